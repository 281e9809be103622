import os
import random

from PIL import Image, ImageDraw, ImageFilter, ImageFont

ROOT = 'data/mnt/ramdisk/max/90kDICT32px/'
SIZES = {'train': 160, 'val': 96}


def word(rng):
    return ''.join(rng.choice('bcdfghklmnprstvw') + rng.choice('aeiou') for _ in range(rng.randint(2, 4)))


def picture(text, rng):
    font = ImageFont.load_default(size=rng.randint(17, 23))
    left, top, right, bottom = font.getbbox(text)
    image = Image.new('RGB', (right - left + rng.randint(6, 14), 31), tuple(rng.randint(120, 255) for _ in range(3)))
    draw = ImageDraw.Draw(image)
    draw.text((rng.randint(2, 5) - left, (31 - bottom - top) // 2), text, font=font,
              fill=tuple(rng.randint(0, 100) for _ in range(3)))
    image = image.rotate(rng.uniform(-4, 4), resample=Image.BILINEAR, fillcolor=image.getpixel((0, 0)))
    return image.filter(ImageFilter.GaussianBlur(rng.uniform(0, 0.8)))


def main():
    rng = random.Random(3)
    words = sorted({word(rng) for _ in range(400)})
    os.makedirs(ROOT, exist_ok=True)
    os.makedirs('checkpoints', exist_ok=True)
    with open(ROOT + 'lexicon.txt', 'w') as f:
        f.write('\n'.join(words) + '\n')
    for mode, count in SIZES.items():
        os.makedirs(ROOT + mode, exist_ok=True)
        with open(ROOT + f'annotation_{mode}.txt', 'w') as f:
            for i in range(count):
                k = rng.randrange(len(words))
                path = f'{mode}/{i}_{words[k]}_{k}.jpg'
                picture(words[k], rng).save(ROOT + path, quality=90)
                f.write(f'{path} {k}\n')


if __name__ == '__main__':
    main()
