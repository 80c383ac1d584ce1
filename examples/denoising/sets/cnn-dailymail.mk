# CNN/DailyMail: 10,000 articles (`fetch.py cnn-dailymail TEXT`), made noisy in four ways (Table 4, 40 % of the words), then
# summarised. NOT RUN at full scale.
include $(HERE)/sets/paper.mk
NOISES := random,keyboard,swap,delete
WORD_RATE := 0.4
METRICS := bleu,rouge
SYMSPELL := no
