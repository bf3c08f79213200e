// Colours of numbers. The same numbers stand in heed/labs/palette.py; a test compares them.
//
//   colour(weight)  0 … 1 -> {background, ink}: cividis, which people who see red and green alike
//                   read as well as others do, and which is as clear in grey
//   diverging(x)   −1 … 1 -> {background, ink}: blue through a warm white to ochre
//   ink is black or white, whichever stands out more (at least 4.5 : 1); all are "#rrggbb".

const CIVIDIS =
  "00224d00234f00235000245200255400265500265700275900285b00285c00295e002a60002a62002b64002c66" +
  "002c67002d69002e6b002f6d002f6f0030700030700031700031700432700833700b33700e347011356f14366f" +
  "16366f18376f1a386f1c386e1d396e1f3a6e213b6e223b6e243c6e253d6d273d6d283e6d2a3f6d2b3f6d2c406d" +
  "2e416c2f426c30426c31436c32446c34446c35456c36466c37466c38476c39486c3a486b3b496b3d4a6b3e4b6b" +
  "3f4b6b404c6b414d6b424d6b434e6b444f6b454f6b46506b47516b48516b49526b4a536b4b546c4c546c4d556c" +
  "4e566c4e566c4f576c50586c51586c52596c535a6c545a6c555b6d565c6d575d6d585d6d595e6d595f6d5a5f6d" +
  "5b606e5c616e5d616e5e626e5f636e60646e61646f61656f62666f63666f64676f656870666970676970686a70" +
  "686b71696b716a6c716b6d716c6d726d6e726e6f726e70736f7073707173717273727374737374747475747575" +
  "7575757676767777767878767978777979777a7a777b7b777c7b787d7c787e7d787f7d78807e78817f78828078" +
  "8380788481788582788583788683788784788885788986788a86788b87788c88788d89788e89788f8a77908b77" +
  "918c77928c77938d77948e77958f77968f779790769891769992769a93769b93769c94769d95759e96759f9675" +
  "a09775a19874a29974a39a74a49a74a59b73a69c73a79d73a89e73a99e72aa9f72aba072aca171ada271aea271" +
  "afa370b0a470b1a570b2a66fb3a66fb4a76fb5a86eb6a96eb7aa6db8ab6db9ab6dbaac6cbbad6cbcae6bbdaf6b" +
  "beb06abfb06ac1b169c2b269c3b368c4b468c5b567c6b567c7b666c8b765c9b865cab964cbba64ccbb63cdbc62" +
  "cebc62cfbd61d0be60d2bf60d3c05fd4c15ed5c25ed6c35dd7c35cd8c45bd9c55adac65adbc759dcc858dec957" +
  "dfca56e0cb55e1cc54e2cc53e3cd52e4ce51e5cf50e6d04fe8d14ee9d24dead34cebd44becd54aedd648eed747" +
  "efd846f1d944f2da43f3da42f4db40f5dc3ff6dd3df8de3bf9df3afae038fbe136fde234fde333fde534fde636" +
  "fde737";

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
