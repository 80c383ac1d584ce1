# ALTA 2017, post-OCR correction (Table 3): the shared task gives its 6,000 texts to those who sign up for it. Write them to
# TEXT/all.src (scanned) and TEXT/all.tgt (corrected), one text per line. NOT RUN at full scale.
include $(HERE)/sets/paper.mk
