# WMT'14 English-German: 4,500,966 sentences; valid newstest2013 (3,000), test newstest2014 (3,003). NOT RUN at full
# scale. The text (TEXT=DIR with train, valid, test .en and .de) is tokenized; a joint BPE of 32,000.
include $(HERE)/sets/paper.mk
SOURCE := en
TARGET := de
VOCAB := 32000
COVERAGE := 0.9999
