package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Session;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What a node hears of others, and what it does where it hears nothing. */
class InboxTest {
    private final ClusterBed bed = new ClusterBed(2);
    private final ClusterBed.Node first = bed.node(0);
    private final ClusterBed.Node second = bed.node(1);

    @AfterEach
    void close() {
        bed.close();
    }

    @Test
    void whatABackendHearsOfAnotherNodeItHearsInOrderAndOnNoThreadOfTheStore() {
        Session here = first.open();
        Session there = second.find(here);
        Connection listening = bed.listen(there);
        first.backend.life().sink.send(Wire.question("\"a\""));
        first.backend.life().sink.send(Wire.question("\"b\""));
        assertThat(bed.read(listening)).hasSize(2);
        List<Runnable> tasks = new ArrayList<>();
        first.executor = tasks::add;
        there.answer(Wire.answer(new RequestId("\"a\"")));
        there.answer(Wire.answer(new RequestId("\"b\"")));
        bed.settle();
        assertThat(first.backend.life().heard).doesNotContain("answer \"a\"", "answer \"b\"");
        assertThat(tasks).as("one after the other").hasSize(1);
        tasks.remove(0).run();
        assertThat(first.backend.life().heard).containsSubsequence("answer \"a\"", "answer \"b\"");
        first.executor = Runnable::run;
        first.backend.life().sink.send(Wire.question("\"c\""));
        there.answer(Wire.answer(new RequestId("\"c\"")));
        bed.settle();
        assertThat(first.backend.life().heard).contains("answer \"c\"");
    }

    @Test
    void whatTheStoreCannotKeepForOneSessionRefusesNoOther() {
        Session broken = first.open();
        Session well = first.open();
        first.store.decree(FlakyCluster.Fate.UNREADABLE);
        var sent = first.backend.lives.get(0).sink.send(Wire.notice("a")).toCompletableFuture();
        assertThat(sent).isCompletedExceptionally();
        assertThat(bed.post(well, 1).end).isEmpty();
        assertThat(bed.post(first.find(broken), 2).end).isEmpty();
    }
}
