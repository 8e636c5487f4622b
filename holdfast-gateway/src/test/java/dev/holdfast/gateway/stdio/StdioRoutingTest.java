package dev.holdfast.gateway.stdio;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import dev.holdfast.gateway.TestJson;
import dev.holdfast.gateway.Wait;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

@Timeout(60)
class StdioRoutingTest {
    private static final String LOG = TestJson.notification("notifications/message");

    @AutoClose
    @SuppressWarnings("NullAway.Init")
    private Puppet child;

    @BeforeEach
    void start(@TempDir Path folder) throws IOException {
        child = new Puppet(folder);
    }

    @Test
    void aResponseGoesToItsCall() {
        RecordedCall first = child.call(1, "tools/call");
        RecordedCall second = child.call(2, "tools/call");

        child.says(TestJson.result(2));
        child.says(TestJson.result(1));

        assertThat(first.next()).isEqualTo(TestJson.result(1));
        assertThat(second.next()).isEqualTo(TestJson.result(2));
    }

    @Test
    void aNumberIsNotTheTextOfThatNumber() {
        RecordedCall number = child.call(1, "tools/call");
        RecordedCall text = child.call("{'jsonrpc':'2.0','id':'1','method':'tools/call'}");

        child.says("{'jsonrpc':'2.0','id':'1','result':{}}");

        assertThat(text.next()).contains("\"id\":\"1\"");
        assertThat(number.waiting()).isZero();
    }

    @Test
    void anAnswerThatNoRunningCallWaitsForIsTold() {
        Logger logger = (Logger) LoggerFactory.getLogger(StdioConnection.class);
        ListAppender<ILoggingEvent> log = new ListAppender<>();
        log.start();
        logger.addAppender(log);
        try {
            RecordedCall call = child.call(1, "tools/call");

            child.says("{'jsonrpc':'2.0','id':'1','result':{}}");
            child.says(TestJson.result(1));

            assertThat(call.next()).isEqualTo(TestJson.result(1));
            assertThat(log.list)
                    .filteredOn(event -> event.getLevel() == Level.WARN)
                    .singleElement()
                    .asString()
                    .contains("an answer that no running call waits for was dropped");
        } finally {
            logger.detachAppender(log);
        }
    }

    @Test
    void progressGoesToTheCallOfItsToken() {
        RecordedCall first =
                child.call("{'jsonrpc':'2.0','id':1,'method':'m','params':{'_meta':{'progressToken':'t'}}}");
        RecordedCall second =
                child.call("{'jsonrpc':'2.0','id':2,'method':'m','params':{'_meta':{'progressToken':7}}}");
        child.listening().followed = true;

        child.says("{'jsonrpc':'2.0','method':'notifications/progress','params':{'progressToken':'t','progress':1}}");
        child.says("{'jsonrpc':'2.0','method':'notifications/progress','params':{'progressToken':7,'progress':2}}");

        assertThat(first.next()).contains("\"progress\":1");
        assertThat(second.next()).contains("\"progress\":2");
    }

    @Test
    void progressOfATaskGoesOnBehindTheResponse() {
        child.call("{'jsonrpc':'2.0','id':1,'method':'m','params':{'task':{},'_meta':{'progressToken':'task'}}}");
        child.says(TestJson.result(1));

        child.says(
                "{'jsonrpc':'2.0','method':'notifications/progress','params':{'progressToken':'task','progress':1}}");

        assertThat(child.listening().next()).contains("\"task\"");
    }

    @ParameterizedTest
    @ValueSource(strings = {"'late'", "'invented'", "1", "null", "{}"})
    void claudeCode47765_progressThatNoRunningCallAskedForIsDroppedAndCounted(String token) {
        RecordedCall over =
                child.call("{'jsonrpc':'2.0','id':1,'method':'m','params':{'_meta':{'progressToken':'late'}}}");
        child.says(TestJson.result(1));
        assertThat(over.next()).isEqualTo(TestJson.result(1));
        RecordedCall running = child.call(2, "tools/call");

        child.says("{'jsonrpc':'2.0','method':'notifications/progress','params':{'progressToken':" + token
                + ",'progress':1}}");
        child.says(TestJson.result(2));

        assertThat(running.next()).isEqualTo(TestJson.result(2));
        assertThat(over.waiting()).isZero();
        assertThat(child.listening().waiting()).isZero();
        assertThat(child.listening().unsolicited).hasValue(1);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"tools/list_changed", "prompts/list_changed", "resources/list_changed", "resources/updated"})
    void newsOfListsAndResourcesGoToTheListeningStream(String news) {
        RecordedCall call = child.call(1, "tools/call");

        child.says(TestJson.notification("notifications/" + news));

        assertThat(child.listening().next()).contains(news);
        assertThat(call.waiting()).isZero();
    }

    @Test
    void theRestGoesToTheOnlyRunningCallEvenIfItsClientListens() {
        RecordedCall call = child.call(1, "tools/call");
        child.listening().followed = true;

        child.says(LOG);

        assertThat(call.next()).isEqualTo(LOG);
    }

    @Test
    void theRestGoesToTheListeningStreamIfSeveralCallsRunAndItsClientListens() {
        RecordedCall first = child.call(1, "tools/call");
        RecordedCall second = child.call(2, "tools/call");
        child.listening().followed = true;

        child.says(LOG);

        assertThat(child.listening().next()).isEqualTo(LOG);
        assertThat(first.waiting() + second.waiting()).isZero();
    }

    @Test
    void theRestGoesToTheListeningStreamIfACancelledCallMayStillRunAndItsClientListens() {
        child.call(1, "tools/call").cancel(Optional.empty());
        RecordedCall running = child.call(2, "tools/call");
        child.listening().followed = true;

        child.says(LOG);
        assertThat(child.listening().next()).isEqualTo(LOG);

        child.says(TestJson.result(1));
        child.says(LOG);
        assertThat(running.next()).isEqualTo(LOG);
    }

    @Test
    void aCancelledCallThatIsNeverAnsweredIsInNobodysWayForLong() {
        child.call(1, "tools/call").cancel(Optional.empty());
        RecordedCall running = child.call(2, "tools/call");
        child.listening().followed = true;

        Wait.until("what comes is the running call's", () -> {
            child.says(LOG);
            return running.waiting() > 0;
        });
    }

    @Test
    void theRestGoesToTheNewestRunningCallIfNobodyListens() {
        child.call(1, "tools/call");
        RecordedCall second = child.call(2, "tools/call");
        RecordedCall third = child.call(3, "tools/call");
        child.says(TestJson.result(3));
        third.next();

        child.says(LOG);

        assertThat(second.next()).isEqualTo(LOG);
    }

    @Test
    void theRestGoesToTheListeningLogIfNothingRunsAndNobodyListens() {
        child.says(LOG);

        assertThat(child.listening().next()).isEqualTo(LOG);
    }

    @Test
    void aRequestThatIsJournaledCarriesNothingButItsAnswer() {
        RecordedCall setting = child.call(1, "logging/setLevel");

        child.says(LOG);
        child.says(TestJson.result(1));

        assertThat(child.listening().next()).isEqualTo(LOG);
        assertThat(setting.next()).isEqualTo(TestJson.result(1));
    }

    @Test
    void whatComesForACancelledCallIsDropped() {
        RecordedCall call =
                child.call("{'jsonrpc':'2.0','id':1,'method':'m','params':{'_meta':{'progressToken':'t'}}}");
        call.cancel(Optional.empty());

        child.says("{'jsonrpc':'2.0','method':'notifications/progress','params':{'progressToken':'t','progress':1}}");
        child.says(TestJson.result(1));
        child.says(LOG);

        assertThat(child.listening().next()).isEqualTo(LOG);
        assertThat(call.waiting()).isZero();
    }

    @Test
    void theMessagesOfABatchGoTheirOwnWays() {
        RecordedCall call = child.call(1, "tools/call");

        child.says("[" + TestJson.result(1) + "," + TestJson.notification("notifications/tools/list_changed") + "]");

        assertThat(call.next()).isEqualTo(TestJson.result(1));
        assertThat(child.listening().next()).contains("list_changed");
    }

    @Test
    void linesThatAreNoMessagesAreDropped() {
        child.says("Server running on stdio");
        child.says("");
        child.says("{'jsonrpc':'2.0'}");
        child.says("[[[");
        child.says(LOG);

        assertThat(child.listening().next()).isEqualTo(LOG);
        assertThat(child.listening().losses).isEmpty();
    }

    @Test
    void whatComesLateIsNotForTheNextCallWithTheSameIdAndToken() {
        String call = "{'jsonrpc':'2.0','id':1,'method':'m','params':{'_meta':{'progressToken':1}}}";
        RecordedCall over = child.call(call);
        child.says(TestJson.result(1));
        assertThat(over.next()).isEqualTo(TestJson.result(1));
        RecordedCall next = child.call(call);
        child.says("{'jsonrpc':'2.0','method':'notifications/progress','params':{'progressToken':1,'progress':99}}");
        child.says("{'jsonrpc':'2.0','id':1,'result':{'of':'the first, once more'}}");
        child.says("{'jsonrpc':'2.0','method':'notifications/tools/list_changed'}");
        assertThat(child.listening().next()).contains("list_changed");
        assertThat(next.waiting()).isZero();
    }
}
