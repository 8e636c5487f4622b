package dev.holdfast.redis;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The scripts that run inside Redis; each of them is one step for whoever else uses its keys. Their answers begin with a number. */
enum Script {
    CREATE("session", "create"),
    JOIN("session", "join"),
    LOOK("session", "look"),
    FENCE("session", "fence"),
    MEMBERS("session", "members"),
    COMMIT("session", "commit"),
    TOKEN("session", "token"),
    READ("session", "read"),
    DELETE("session", "delete"),
    COUNT("principal", "count"),
    UNCOUNT("principal", "uncount"),
    BEGIN("bus", "begin"),
    RENEW("bus", "renew"),
    END("bus", "end"),
    LIVING("bus", "living"),
    SEND("bus", "send"),
    HAD("bus", "had");

    /** The session is not there. */
    static final int GONE = 1;
    /** The epoch is not present. */
    static final int STALE = 2;
    /** Nothing was done. */
    static final int REFUSED = 3;

    private final String source;
    private final String digest;

    Script(String keys, String own) {
        source = Stream.of("common", keys, own).map(Script::file).collect(Collectors.joining("\n"));
        digest = sha1(source());
    }

    private static String file(String name) {
        try (InputStream in = Script.class.getResourceAsStream(name + ".lua")) {
            if (in == null) {
                throw new IllegalStateException("the script " + name + ".lua is missing beside " + Script.class);
            }
            return new String(in.readAllBytes(), UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String sha1(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-1").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every JDK has SHA-1", e);
        }
    }

    byte[] source() {
        return source.getBytes(UTF_8);
    }

    /** The name under which Redis keeps a script that it has seen: its SHA-1. */
    String digest() {
        return digest;
    }

    static int word(List<Object> answer) {
        return Math.toIntExact((Long) answer.get(0));
    }
}
