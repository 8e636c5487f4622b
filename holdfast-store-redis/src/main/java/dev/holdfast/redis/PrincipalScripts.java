package dev.holdfast.redis;

import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SharedSessionStore;
import dev.holdfast.spi.SharedSessionStore.Counted;
import java.nio.ByteBuffer;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/** Counts the sessions of each principal: a sorted set of their keys, by the time until which they count, in a slot of its own. */
final class PrincipalScripts {
    private static final int DONE = 0;

    private final Scripts scripts;
    private final Completions completions;
    private final String prefix;
    private final Optional<InstantSource> clock;

    PrincipalScripts(Scripts scripts, Completions completions, String prefix, Optional<InstantSource> clock) {
        this.scripts = scripts;
        this.completions = completions;
        this.prefix = prefix;
        this.clock = clock;
    }

    /** The name of a principal's set: no principal is to be read in it, and no session has a name as long. */
    private byte[] name(String principal) {
        return Codec.text(prefix + "{principal:" + SessionScripts.digest(SessionKey.of("", principal)) + "}");
    }

    CompletionStage<Counted> count(String principal, SessionKey key, long until, int most) {
        return run(
                Script.COUNT,
                principal,
                PrincipalScripts::counted,
                SessionScripts.bytes(key),
                Codec.digits(until),
                Codec.digits(most),
                Codec.digits(SharedSessionStore.COUNTED_TOLD));
    }

    private static Counted counted(List<Object> answer) {
        if ((Long) answer.get(0) == DONE) {
            return new Counted(true, List.of());
        }
        List<SessionKey> first = new ArrayList<>();
        ((List<?>) answer.get(1)).forEach(member -> first.add(key(ByteBuffer.wrap((byte[]) member))));
        return new Counted(false, first);
    }

    CompletionStage<Void> uncount(String principal, SessionKey key) {
        return run(Script.UNCOUNT, principal, answer -> null, SessionScripts.bytes(key));
    }

    private static SessionKey key(ByteBuffer member) {
        return new SessionKey(member.getLong(), member.getLong(), member.getLong(), member.getLong());
    }

    private <T> CompletionStage<T> run(
            Script script, String principal, Function<List<Object>, T> reader, byte[]... arguments) {
        List<byte[]> all = new ArrayList<>();
        all.add(clock.map(followed -> Codec.digits(followed.millis())).orElse(new byte[0]));
        all.addAll(List.of(arguments));
        return scripts.run(script, new byte[][] {name(principal)}, all, reader, completions.of(principal));
    }
}
