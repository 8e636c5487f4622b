package dev.holdfast.gateway.demo;

/** The smallest useful media, in Base64. */
final class DemoMedia {
    static final String PNG_TYPE = "image/png";
    static final String WAV_TYPE = "audio/wav";

    /** One red pixel. */
    static final String PNG =
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR42mP4z8AAAAMBAQD3A0FDAAAAAElFTkSuQmCC";

    /** One millisecond of silence: 8 samples of 8 bits at 8 kHz. */
    static final String WAV = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

    private DemoMedia() {}
}
