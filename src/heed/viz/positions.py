"""Places as vectors: their numbers as waves, and how alike two places are."""

from matplotlib.figure import Figure

from heed.layers.positions import Sinusoids
from heed.viz.heatmap import INK, RING, Picture, picture, plain_axes


def likeness(d_model: int, *, apart: int) -> list[float]:
    """PE(p)·PE(p + k) / (d/2) for k = 0, …, ``apart``: the same for every p, for each frequency
    gives cos(ω k). 1 is the place itself."""
    places = Sinusoids(d_model=d_model)(apart + 1)
    return (places @ places[0] / (d_model / 2)).tolist()


def waves(*, places: int = 60, d_model: int = 128) -> Picture:
    """The numbers of each place, a row a place; and how alike two places are, by their distance."""
    table = Sinusoids(d_model=d_model)(places)
    alike = likeness(d_model, apart=places - 1)
    figure = Figure(figsize=(7.8, 3.1), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    image = left.imshow(table.numpy(), cmap="cividis", vmin=-1.0, vmax=1.0, aspect="auto")
    bar = figure.colorbar(image, ax=left, ticks=(-1, 0, 1), fraction=0.05)
    bar.ax.tick_params(colors=INK, length=0)
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    left.set_xlabel("number in the vector: sine, cosine, sine, …")
    left.set_ylabel("place")
    right.plot(range(places), alike, color=RING, marker="o", markersize=3, linewidth=1.6)
    right.set_xlabel("places apart")
    right.set_ylabel("likeness; 1 is the same place")
    right.set_ylim(min(0.0, *alike), 1.05)
    for axes in (left, right):
        plain_axes(axes)
    left.spines[:].set_visible(False)
    return picture(
        figure,
        f"Left, the vectors of {places} places, {d_model} numbers each: fast waves on the left, "
        "ever slower ones to the right, so each row is another one. Right, how alike two places "
        f"are: {alike[1]:.2f} one apart, {alike[5]:.2f} five apart, {alike[-1]:.2f} at "
        f"{places - 1}.",
    )
