# WMT'14 English-French: 10,000 sentences (`fetch.py wmt14-en-fr TEXT`), the English made noisy in four ways (Table 4, 41 %
# of the words), then translated. NOT RUN at full scale.
include $(HERE)/sets/paper.mk
NOISES := random,keyboard,swap,delete
WORD_RATE := 0.41
LONGEST := 100
TOKENS := 3200
METRICS := bleu,rouge
SYMSPELL := no
