# an editor whose words know their spelling; of eleven mistakes, eight are slips of letters
ARCH := levt
NOISE := insert,delete:2,substitute:2,swap:2,keyboard,confusions:3
LEVT_TOKENS := 5000
LEVT_UPDATES := 350
LEVT_LR := 0.003
