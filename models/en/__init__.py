"""The editor of English of lev-plugins, as a model folder that is also a package."""
