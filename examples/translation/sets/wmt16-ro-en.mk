# WMT'16 Romanian-English: 608,319 sentences; valid newsdev2016, test newstest2016 (1,999 each). NOT RUN at full scale.
# The text (TEXT=DIR with train, valid, test .ro and .en) is tokenized; a joint BPE of 40,000.
include $(HERE)/sets/paper.mk
SOURCE := ro
TARGET := en
VOCAB := 40000
COVERAGE := 0.9999
