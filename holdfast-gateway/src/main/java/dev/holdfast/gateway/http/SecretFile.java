package dev.holdfast.gateway.http;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reads files that hold secrets: no message shows what is in them. */
public final class SecretFile {
    /** Some editors begin a file with it. */
    private static final String BYTE_ORDER_MARK = "\uFEFF";

    private static final long LARGEST = 4 << 20;

    private SecretFile() {}

    /**
     * The text of a file.
     *
     * @throws GatewayException if it cannot be read
     */
    public static String text(Path file) {
        return text(file, content(file));
    }

    static byte[] content(Path file) {
        try {
            if (Files.size(file) > LARGEST) {
                throw new GatewayException(file + ": larger than " + LARGEST + " bytes");
            }
            return Files.readAllBytes(file);
        } catch (IOException e) {
            throw new GatewayException(file + ": cannot be read", e);
        }
    }

    static String text(Path file, byte[] content) {
        try {
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(content))
                    .toString();
            return text.startsWith(BYTE_ORDER_MARK) ? text.substring(1) : text;
        } catch (CharacterCodingException e) {
            throw new GatewayException(file + ": not UTF-8", e);
        }
    }
}
