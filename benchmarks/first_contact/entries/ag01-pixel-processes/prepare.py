import os
import random

from PIL import Image, ImageDraw, ImageFilter

ROOT = 'celeba_data'
COUNT = 512


def shade(rng, low, high):
    return tuple(rng.randint(low, high) for _ in range(3))


def face(rng):
    image = Image.new('RGB', (178, 218), shade(rng, 30, 220))
    draw = ImageDraw.Draw(image)
    for _ in range(6):
        x, y = rng.randint(0, 178), rng.randint(0, 218)
        draw.rectangle((x, y, x + rng.randint(10, 90), y + rng.randint(10, 90)), fill=shade(rng, 20, 230))
    x, y, w, h = 89 + rng.randint(-8, 8), 112 + rng.randint(-8, 8), rng.randint(38, 52), rng.randint(52, 66)
    tone = rng.randint(90, 225)
    skin = (tone, int(tone * 0.8), int(tone * 0.68))
    draw.ellipse((x - w - 8, y - h - 20, x + w + 8, y + h // 2), fill=shade(rng, 10, 130))
    draw.ellipse((x - w, y - h, x + w, y + h), fill=skin)
    for side in (-1, 1):
        e = x + side * w // 2
        draw.ellipse((e - 9, y - 18, e + 9, y - 8), fill=(240, 240, 240))
        draw.ellipse((e - 4, y - 17, e + 4, y - 9), fill=shade(rng, 0, 110))
    draw.polygon(((x, y - 8), (x - 7, y + 14), (x + 7, y + 14)), fill=tuple(int(c * 0.85) for c in skin))
    draw.ellipse((x - 16, y + 26, x + 16, y + 26 + rng.randint(6, 16)), fill=(rng.randint(130, 210), 50, 60))
    image = image.filter(ImageFilter.GaussianBlur(1))
    return Image.blend(image, Image.effect_noise(image.size, 40).convert('RGB'), 0.12)


def main():
    rng = random.Random(11)
    os.makedirs(ROOT, exist_ok=True)
    for i in range(COUNT):
        face(rng).save(f'{ROOT}/{i + 1:06}.jpg', quality=90)


if __name__ == '__main__':
    main()
