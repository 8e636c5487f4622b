package dev.holdfast.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import dev.holdfast.session.Cancellation;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.StreamId;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What nodes tell each other comes as it was sent, or not at all. */
class NodeMessageTest {
    private static final SessionKey KEY = new SessionKey(1, -2, Long.MAX_VALUE, 0);
    private static final StreamId STREAM = new StreamId(7, 1L << 40);

    private static InboundMessage message(InboundMessage.Kind kind, JournalChange change) {
        RequestId id = kind == InboundMessage.Kind.NOTIFICATION ? null : new RequestId("\"ä\"");
        return new InboundMessage(kind, id, "m", "{}".getBytes(UTF_8), change, InboundMessage.NO_CONTEXT);
    }

    private static final List<NodeMessage> ALL = List.of(
            new NodeMessage.Superseded(KEY, STREAM, -1),
            new NodeMessage.Ended(KEY, "a-1", 5),
            new NodeMessage.Confirmed(KEY, 5),
            new NodeMessage.Released(KEY, 6),
            new NodeMessage.Delivered(KEY, STREAM),
            new NodeMessage.Answered(KEY, message(InboundMessage.Kind.RESPONSE, JournalChange.NONE)),
            new NodeMessage.Cancelled(
                    KEY,
                    new Cancellation(
                            new RequestId("1"), message(InboundMessage.Kind.NOTIFICATION, JournalChange.NONE), 10, 11)),
            new NodeMessage.Notified(
                    KEY, new Epoch(2, -3), message(InboundMessage.Kind.NOTIFICATION, new JournalChange.Put("k"))),
            new NodeMessage.Read(KEY),
            new NodeMessage.Journaled(KEY, 8, "a-1", 6),
            new NodeMessage.Known(KEY, "b-1", 6),
            new NodeMessage.Doubted(KEY, 14),
            new NodeMessage.Forwarded(
                    KEY,
                    new Epoch(2, -3),
                    "n-1",
                    9,
                    List.of(
                            message(InboundMessage.Kind.REQUEST, new JournalChange.Put("a")),
                            message(InboundMessage.Kind.REQUEST, new JournalChange.Remove("b"))),
                    List.of(12L, 13L)),
            new NodeMessage.Taken(KEY, 9, STREAM, new Epoch(3, -4)),
            new NodeMessage.Declined(KEY, 9, new NodeMessage.NotTaken(NodeMessage.NotTaken.Kind.DUPLICATE, "1")));

    @Test
    void eachMessageComesAsItWasSent() {
        for (NodeMessage sent : ALL) {
            assertThat(NodeMessage.of(sent.pack())).usingRecursiveComparison().isEqualTo(sent);
        }
        assertThat(ALL).extracting(Object::getClass).hasSize(NodeMessage.class.getPermittedSubclasses().length);
    }

    @Test
    void aMessageThatWasCutOrIsOfAnotherVersionIsRefused() {
        for (NodeMessage sent : ALL) {
            byte[] whole = sent.pack();
            for (int length = 0; length < whole.length; length++) {
                byte[] cut = Arrays.copyOf(whole, length);
                assertThatIllegalArgumentException().isThrownBy(() -> NodeMessage.of(cut));
            }
        }
        byte[] newer = ALL.get(0).pack();
        newer[0]++;
        assertThatIllegalArgumentException().isThrownBy(() -> NodeMessage.of(newer));
        byte[] unknown = ALL.get(0).pack();
        unknown[1] = 99;
        assertThatIllegalArgumentException().isThrownBy(() -> NodeMessage.of(unknown));
    }
}
