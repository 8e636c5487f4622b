package dev.holdfast.session;

import dev.holdfast.Lifetime;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.MessageFactory.Introduction;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;

/**
 * What a session in memory begins with.
 *
 * @param listensOnly whether everything goes to its listening stream
 * @param extension what the engine keeps in its record
 * @param epochs those that it had, oldest first, the present one last
 * @param certainFrom the counter of the epoch since which surely nothing was lost
 */
public record SessionSeed(boolean listensOnly, RecordState.Extension extension, List<Epoch> epochs, int certainFrom) {
    /** A session that is being opened. */
    public static SessionSeed opened(Lifetime lifetime, boolean listensOnly, RandomGenerator random) {
        return new SessionSeed(
                listensOnly,
                new RecordState.Extension(lifetime, 1, 0, false, Introduction.NONE),
                List.of(new Epoch(1, random.nextInt())),
                1);
    }

    /** A session that comes back from the store. */
    public static SessionSeed kept(SessionStore.Claim claim) {
        return new SessionSeed(
                claim.record().kind().equals(SessionRecord.LISTENING_SESSION),
                RecordState.Extension.of(claim.record()),
                Stream.concat(claim.before().stream(), Stream.of(claim.epoch())).toList(),
                claim.certainFrom());
    }

    public Lifetime lifetime() {
        return extension.lifetime();
    }

    /** The counter of the epoch in which the present life of the session began, as its record has it. */
    public int born() {
        return extension.born();
    }

    Epoch epoch() {
        return epochs.get(epochs.size() - 1);
    }
}
