# an editor whose words know their spelling; of eleven mistakes, seven are slips of letters
ARCH := levt
NOISE := insert,delete:2,substitute,swap,keyboard,confusions:5
