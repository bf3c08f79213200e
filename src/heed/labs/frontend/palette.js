// Colours of numbers. The same numbers stand in heed/labs/palette.py; a test compares them.
//
//   colour(weight)  0 … 1 -> {background, ink}: cividis, which people who see red and green alike
//                   read as well as others do, and which is as clear in grey
//   diverging(x)   −1 … 1 -> {background, ink}: blue through a warm white to ochre
//   ink is black or white, whichever stands out more (at least 4.5 : 1); all are "#rrggbb".

const CIVIDIS =
  "00224e00234f00245100255300255400265600275800285900285b00295d002a5f002a61002b62002c64002c66" +
  "002d68002e6a002e6c002f6d00306f0030700031700031710132710533710833700c34700f3570123570143670" +
  "16377018376f1a386f1c396f1e3a6f203a6f213b6e233c6e243c6e263d6e273e6e293f6e2a3f6d2b406d2d416d" +
  "2e416d2f426d31436d32436d33446d34456c35456c36466c38476c39486c3a486c3b496c3c4a6c3d4a6c3e4b6c" +
  "3f4c6c404c6c414d6c424e6c434e6c444f6c45506c46516c47516c48526c49536c4a536c4b546c4c556c4d556c" +
  "4e566c4f576c50576c51586d52596d535a6d545a6d555b6d555c6d565c6d575d6d585e6d595e6e5a5f6e5b606e" +
  "5c616e5d616e5e626e5e636f5f636f60646f61656f62656f636670646770656870656870666970676a71686a71" +
  "696b716a6c716b6d726c6d726c6e726d6f726e6f736f7073707173717274727274727374737475747475757575" +
  "7676767777767777777878777979777a7a787b7a787c7b787d7c787e7c787e7d787f7e78807f78817f78828079" +
  "8381798482798582798683798784788885788985788a86788b87788c88788d88788e89788f8a78908b78918b78" +
  "928c78928d78938e78948e77958f779690779791779892779992779a93769b94769c95769d95769e96769f9775" +
  "a09875a19975a29975a39a74a49b74a59c74a69c74a79d73a89e73a99f73aaa073aba072aca172ada272aea371" +
  "afa471b0a571b1a570b3a670b4a76fb5a86fb6a96fb7a96eb8aa6eb9ab6dbaac6dbbad6dbcae6cbdae6cbeaf6b" +
  "bfb06bc0b16ac1b26ac2b369c3b369c4b468c5b568c6b667c7b767c8b866c9b965cbb965ccba64cdbb63cebc63" +
  "cfbd62d0be62d1bf61d2c060d3c05fd4c15fd5c25ed6c35dd7c45cd9c55cdac65bdbc75adcc859ddc858dec958" +
  "dfca57e0cb56e1cc55e2cd54e4ce53e5cf52e6d051e7d150e8d24fe9d34eead34cebd44bedd54aeed649efd748" +
  "f0d846f1d945f2da44f3db42f5dc41f6dd3ff7de3ef8df3cf9e03afbe138fce236fde334fee434fee535fee636" +
  "fee838";

const STOPS = ["#1f4e8c", "#86a5cf", "#f3f1ec", "#dfae62", "#96520b"];

const SHADES = Array.from({ length: 256 }, (_, i) => shade(`#${CIVIDIS.slice(6 * i, 6 * i + 6)}`));
const BETWEEN = Array.from({ length: 201 }, (_, i) => shade(mix((i / 200) * (STOPS.length - 1))));

export function colour(weight) {
  return SHADES[Math.floor(within(weight, 0, 1) * 255 + 0.5)];
}

export function diverging(x) {
  return BETWEEN[Math.floor((within(x, -1, 1) + 1) * 100 + 0.5)];
}

function within(x, lowest, highest) {
  return x > lowest ? Math.min(x, highest) : lowest;
}

function mix(place) {
  const below = Math.min(Math.floor(place), STOPS.length - 2);
  const [a, b] = [channels(STOPS[below]), channels(STOPS[below + 1])];
  const part = place - below;
  const mixed = a.map((value, k) => Math.floor(value + (b[k] - value) * part + 0.5));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

function channels(hex) {
  return [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
}

// Relative luminance as WCAG 2 defines it. Black and white stand out alike at 0.179.
function shade(background) {
  const [r, g, b] = channels(background).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return { background, ink: light > 0.179 ? "#000000" : "#ffffff" };
}
