"""Files of many formats, read as prose and the rest: ``formats`` says which, ``document`` what a reader yields."""
