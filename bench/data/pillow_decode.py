"""Training samples of ImageNet's usual augmentation with Pillow, as torchvision's
RandomResizedCrop(224) and RandomHorizontalFlip do it, to uint8 arrays on one thread.
usage: pillow_decode.py FOLDER SECONDS; prints images per CPU second."""
import glob
import sys
import time

import numpy
import torch
from torchvision import transforms
from torchvision.datasets.folder import pil_loader

torch.set_num_threads(1)
files = sorted(glob.glob(sys.argv[1] + "/train/*/*.jpg"))
transform = transforms.Compose([transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip()])
torch.manual_seed(1)
count = 0
start = time.process_time()
while time.process_time() - start < float(sys.argv[2]):
    numpy.asarray(transform(pil_loader(files[count % len(files)])))
    count += 1
print("%.2f" % (count / (time.process_time() - start)))
