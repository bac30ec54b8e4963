"""The Space of captionbias."""

from captionbias.app.page import launch_options, page

demo = page(seconds=30 * 60)  # others wait while a run goes on

if __name__ == "__main__":
    demo.launch(**launch_options())
