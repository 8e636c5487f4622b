package dev.holdfast.redis;

import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.StaleEpochException;
import dev.holdfast.spi.UnreadableSessionException;
import java.nio.ByteBuffer;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/** Runs scripts on the keys of one session, and reads the first word of their answers. */
final class SessionScripts {
    private static final int DONE = 0;
    private static final int GONE = 1;
    private static final int STALE = 2;

    private final Scripts scripts;
    private final Completions completions;
    private final String prefix;
    private final Optional<InstantSource> clock;

    SessionScripts(Scripts scripts, Completions completions, String prefix, Optional<InstantSource> clock) {
        this.scripts = scripts;
        this.completions = completions;
        this.prefix = prefix;
        this.clock = clock;
    }

    /** The name of a session's record, and of the channel of its hints: all its keys are in the slot of what stands in braces. */
    static byte[] name(String prefix, SessionKey key) {
        return Codec.text(prefix + "{" + digest(key) + "}");
    }

    static String digest(SessionKey key) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(bytes(key));
    }

    static byte[] bytes(SessionKey key) {
        return ByteBuffer.allocate(4 * Long.BYTES)
                .putLong(key.a())
                .putLong(key.b())
                .putLong(key.c())
                .putLong(key.d())
                .array();
    }

    byte[] name(SessionKey key) {
        return name(prefix, key);
    }

    /** The name of the set of its events. */
    static byte[] events(byte[] name) {
        return new Codec.Output().rest(name).rest(Codec.text("e")).pack();
    }

    /** Arguments that begin with the time: that of the server, unless the store follows another clock. */
    List<byte[]> arguments(byte[]... first) {
        List<byte[]> arguments = new ArrayList<>();
        arguments.add(clock.map(followed -> Codec.digits(followed.millis())).orElse(new byte[0]));
        arguments.addAll(List.of(first));
        return arguments;
    }

    /** Runs a script; empty where the session is not there. */
    <T> CompletionStage<Optional<T>> ask(
            Script script, SessionKey key, List<byte[]> arguments, Function<List<Object>, T> reader) {
        return run(
                script,
                key,
                arguments,
                answer -> word(answer) == GONE ? Optional.empty() : Optional.of(read(answer, reader)));
    }

    /** Runs a script that has an answer for a session that is not there too. */
    <T> CompletionStage<T> always(
            Script script, SessionKey key, List<byte[]> arguments, Function<List<Object>, T> reader) {
        return run(script, key, arguments, answer -> read(answer, reader));
    }

    /** Runs a script under an epoch; fails where that is not present, or the session is not there. */
    <T> CompletionStage<T> under(
            Epoch epoch, Script script, SessionKey key, List<byte[]> arguments, Function<List<Object>, T> reader) {
        return run(script, key, arguments, answer -> {
            switch (word(answer)) {
                case GONE -> throw new IllegalStateException("no such session");
                case STALE ->
                    throw new StaleEpochException(epoch, Codec.epoch(ByteBuffer.wrap((byte[]) answer.get(1))));
                default -> {
                    return read(answer, reader);
                }
            }
        });
    }

    /** Runs a script; returns whether it has done what it was to do. */
    CompletionStage<Boolean> did(Script script, SessionKey key, List<byte[]> arguments) {
        return run(script, key, arguments, answer -> word(answer) == DONE);
    }

    private <T> CompletionStage<T> run(
            Script script, SessionKey key, List<byte[]> arguments, Function<List<Object>, T> reader) {
        byte[] name = name(key);
        return scripts.run(script, new byte[][] {name, events(name)}, arguments, reader, completions.of(key));
    }

    private static int word(List<Object> answer) {
        return Math.toIntExact((Long) answer.get(0));
    }

    private static <T> T read(List<Object> answer, Function<List<Object>, T> reader) {
        try {
            return reader.apply(answer);
        } catch (RedisStoreException e) {
            throw e;
        } catch (RuntimeException e) {
            throw new UnreadableSessionException("what Redis has of a session is not what was written", e);
        }
    }
}
