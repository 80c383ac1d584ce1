# ICDAR 2017 and 2019, post-OCR correction (Table 3): download and unpack the sets of the two competitions (English folders)
# into a folder; `fetch.py icdar TEXT --from FOLDER` makes pairs of them. NOT RUN at full scale.
include $(HERE)/sets/paper.mk
