package dev.holdfast.gateway.text;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.ObjIntConsumer;

/**
 * A text file that an option of the command line names. No message shows what is in it, for that may be a secret; each names the option
 * and the file.
 *
 * @param option the option, such as {@code --auth-token-file}
 * @param path where it is
 */
public record OptionFile(String option, Path path) {
    private static final int LARGEST_MIB = 16;
    private static final int LARGEST = LARGEST_MIB << 20;
    /** How long whoever writes a pipe may take. */
    private static final long PIPE_SECONDS = 10;
    /** Some editors begin a file with it. */
    private static final String BYTE_ORDER_MARK = "\uFEFF";

    /**
     * What is in it. A pipe is read to its end, for some seconds at most.
     *
     * @throws GatewayException if it cannot be read, or is too large
     */
    public byte[] content() {
        if (Files.isDirectory(path)) {
            throw fault("is a folder; name a file in it");
        }
        return Files.isRegularFile(path) || !Files.exists(path) ? read() : readInTime();
    }

    /**
     * What is in it by now. Only a regular file can be read again.
     *
     * @throws GatewayException if it cannot be read, or is too large
     */
    public byte[] contentAgain() {
        if (Files.exists(path) && !Files.isRegularFile(path)) {
            throw fault("is not read again when it changes, for it is no regular file");
        }
        return read();
    }

    private byte[] read() {
        try (InputStream in = Files.newInputStream(path)) {
            byte[] content = in.readNBytes(LARGEST + 1);
            if (content.length > LARGEST) {
                throw fault("has more than " + LARGEST_MIB + " MiB; name a file of text");
            }
            return content;
        } catch (NoSuchFileException e) {
            throw fault("there is no such file; make it, or name another", e);
        } catch (AccessDeniedException e) {
            throw fault("this user may not read it; give it to the user that the gateway runs as, or name another", e);
        } catch (IOException e) {
            throw fault("cannot be read (" + e.getMessage() + "); name a file of text", e);
        }
    }

    /** Reads on a thread of its own: opening a pipe that nobody writes waits for ever, and cannot be interrupted. */
    private byte[] readInTime() {
        try {
            return CompletableFuture.supplyAsync(this::read, task -> {
                        Thread reader = new Thread(task, "holdfast-file");
                        reader.setDaemon(true);
                        reader.start();
                    })
                    .get(PIPE_SECONDS, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            throw fault("did not end within " + PIPE_SECONDS + " s; write to it and close it, or name a file", e);
        } catch (ExecutionException e) {
            throw e.getCause() instanceof GatewayException refused ? refused : new IllegalStateException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw fault("cannot be read, for the gateway is ending", e);
        }
    }

    /**
     * The text that this content is.
     *
     * @throws GatewayException if it is none
     */
    public String text(byte[] content) {
        try {
            String text = StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(content))
                    .toString();
            return text.startsWith(BYTE_ORDER_MARK) ? text.substring(1) : text;
        } catch (CharacterCodingException e) {
            throw fault("is not UTF-8; save it as UTF-8", e);
        }
    }

    /**
     * Gives each line of a text to a parser, with its number; but not those that are empty or begin with {@code #}.
     *
     * @param file its name for messages
     * @throws GatewayException if the parser throws an IllegalArgumentException; names the line, and says what that says
     */
    public static void forEachLine(String file, String text, ObjIntConsumer<String> parser) {
        int number = 0;
        for (String each : (Iterable<String>) text.lines()::iterator) {
            number++;
            // where files were joined, the mark stands at the beginning of any line
            String line = (each.startsWith(BYTE_ORDER_MARK) ? each.substring(1) : each).strip();
            if (!line.isEmpty() && !line.startsWith("#")) {
                try {
                    parser.accept(line, number);
                } catch (IllegalArgumentException e) {
                    throw new GatewayException(file + ", line " + number + ": " + e.getMessage(), e);
                }
            }
        }
    }

    /** What is wrong with it, and what to do. */
    public GatewayException fault(String what) {
        return new GatewayException(this + ": " + what);
    }

    private GatewayException fault(String what, Throwable cause) {
        return new GatewayException(this + ": " + what, cause);
    }

    @Override
    public String toString() {
        return option + " " + path;
    }
}
