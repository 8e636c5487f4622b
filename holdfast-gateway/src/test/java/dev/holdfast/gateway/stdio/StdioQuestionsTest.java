package dev.holdfast.gateway.stdio;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.TestJson;
import dev.holdfast.gateway.Wait;
import dev.holdfast.spi.Backend;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.OutboundMessage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(60)
class StdioQuestionsTest {
    @AutoClose
    @SuppressWarnings("NullAway.Init")
    private Puppet child;

    @BeforeEach
    void start(@TempDir Path folder) throws IOException {
        child = new Puppet(folder);
    }

    /** Lets the child ask under an id of its own; returns the id under which the client is asked. */
    private String asks(String id) {
        child.says("{'jsonrpc':'2.0','method':'roots/list','id':" + id + ",'params':{'id':" + id + "}}");
        OutboundMessage question = child.listening().message();
        assertThat(question.kind()).isEqualTo(EventKind.SERVER_REQUEST);
        String ours = Objects.requireNonNull(question.id()).token();
        assertThat(TestJson.text(question))
                .isEqualTo(TestJson.of(
                        "{'jsonrpc':'2.0','method':'roots/list','id':" + ours + ",'params':{'id':" + id + "}}"));
        return ours;
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "17", "'q'", "'1'", "'A\\u0042'", "'\u00e4'"})
    void theClientIsAskedUnderAnIdOfOursAndTheChildGetsItsOwnBack(String theirs) {
        String ours = asks(theirs);
        assertThat(ours).isEqualTo("\"s.1-1\"");

        child.connection().answer(TestJson.inbound("{'jsonrpc':'2.0','id':" + ours + ",'result':{'roots':[]}}"));

        assertThat(child.hears()).isEqualTo(TestJson.of("{'jsonrpc':'2.0','id':" + theirs + ",'result':{'roots':[]}}"));
    }

    @Test
    void everyQuestionHasAnIdOfItsOwn() {
        assertThat(asks("1")).isEqualTo("\"s.1-1\"");
        assertThat(asks("1")).isEqualTo("\"s.1-2\"");
    }

    @Test
    void anErrorIsAnAnswerToo() {
        String ours = asks("5");

        child.connection()
                .answer(TestJson.inbound("{'jsonrpc':'2.0','id':" + ours + ",'error':{'code':-1,'message':'no'}}"));

        assertThat(child.hears()).contains("\"id\":5,\"error\"");
    }

    @Test
    void anAnswerToAnotherChildIsDropped() {
        asks("1");

        child.connection().answer(TestJson.inbound("{'jsonrpc':'2.0','id':'s.0-1','result':{}}"));
        child.connection().answer(TestJson.inbound("{'jsonrpc':'2.0','id':1,'result':{}}"));
        child.connection().notify(TestJson.inbound("{'jsonrpc':'2.0','method':'notifications/after'}"));

        assertThat(child.hears()).contains("notifications/after");
    }

    @Test
    void aQuestionThatTheChildGivesUpIsWithdrawnUnderTheIdThatTheClientKnows() {
        RecordedCall call = child.call(1, "tools/call");
        child.says("{'jsonrpc':'2.0','id':3,'method':'sampling/createMessage'}");
        assertThat(call.next()).contains("s.1-1");
        child.listening().followed = true;
        child.call(2, "tools/call");

        child.says("{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':3,'reason':'late'}}");

        assertThat(call.next())
                .isEqualTo(
                        TestJson.of(
                                "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':'s.1-1','reason':'late'}}"));
    }

    @Test
    void aQuestionThatTheChildGivesUpIsNotAskedAgain() {
        String ours = asks("3");

        child.says("{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':3}}");

        assertThat(Wait.next(child.listening().withdrawn)).isEqualTo(ours);
        assertThat(child.listening().next()).contains("notifications/cancelled").contains(ours);
    }

    @Test
    void aQuestionThatTheStoreRefusesIsAnsweredWithAnError() {
        child.listening().commit = CompletableFuture.failedFuture(new IOException("thrown by a test"));

        child.says("{'jsonrpc':'2.0','method':'roots/list','id':'q'}");

        assertThat(child.hears()).contains("\"id\":\"q\",\"error\"").contains("could not be stored");
    }

    private static List<String> wrongIds() {
        return List.of("null", "1.5", "1".repeat(65), "'" + "a".repeat(513) + "'");
    }

    @ParameterizedTest
    @MethodSource("wrongIds")
    void aQuestionUnderAnIdThatNoneMayHaveIsRefused(String id) {
        child.says("{'jsonrpc':'2.0','method':'roots/list','id' : " + id + " }");

        assertThat(child.hears())
                .startsWith(TestJson.of("{'jsonrpc':'2.0','id':" + id + ",'error':{'code':-32600,'message':'id must "));
    }

    @Test
    void aQuestionThatCannotBeReadIsRefused() {
        child.says("{'jsonrpc':'2.0','id':4,'method':'roots/list','params':[]}");
        assertThat(child.hears())
                .isEqualTo(TestJson.of(
                        "{'jsonrpc':'2.0','id':4,'error':{'code':-32600,'message':'params must be an object'}}"));

        child.says(
                "{'jsonrpc':'2.0','id':5,'method':'sampling/createMessage','params':{'text':'caf\u00e9'}}", ISO_8859_1);
        assertThat(child.hears())
                .contains("\"id\":5,\"error\":{\"code\":-32700,")
                .contains("not UTF-8");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'id':1,'method':'GET','path':'/'}",
                "{'jsonrpc':'2.0','method':'notifications/message','params':[]}",
                "{'jsonrpc':'2.0','id':{},'method':'roots/list'}",
                "{'jsonrpc':'2.0','id':1,'id':2,'method':'roots/list'}",
                "{'jsonrpc':'2.0','id':null,'method':'roots/list','result':{}}",
                "{'jsonrpc':'2.0','id':1}",
            })
    void whatIsNoQuestionOrTellsNoIdIsNotAnswered(String line) {
        child.says(line);
        child.says("{'jsonrpc':'2.0','method':'roots/list','id':null}");

        assertThat(child.hears()).contains("id must not be null");
    }

    @ParameterizedTest
    @CsvSource({"roots/list,1024", "ping,128"})
    void ofTooManyQuestionsTheNewestIsRefusedAndNoneIsForgotten(String method, int most) {
        for (int i = 1; i <= most; i++) {
            child.says("{'jsonrpc':'2.0','method':'" + method + "','id':" + i + "}");
            child.listening().message();
        }

        child.says("{'jsonrpc':'2.0','method':'" + method + "','id':'more'}");

        assertThat(child.hears()).contains("\"id\":\"more\",\"error\"").contains("too many requests");
        child.connection().answer(TestJson.inbound("{'jsonrpc':'2.0','id':'s.1-1','result':{}}"));
        assertThat(child.hears()).isEqualTo(TestJson.result(1));
    }

    @Test
    void aQuestionGoesToTheListeningStreamOfAClientThatReadsItThoughACallRuns() {
        RecordedCall call = child.call(1, "tools/call");
        child.listening().followed = true;

        asks("3");

        assertThat(call.waiting()).isZero();
    }

    @Test
    void aQuestionOnTheStreamOfACallOutlivesTheCall() {
        RecordedCall call = child.call(1, "tools/call");
        child.says("{'jsonrpc':'2.0','id':3,'method':'roots/list'}");
        assertThat(call.next()).contains("s.1-1");

        child.says(TestJson.result(1));

        assertThat(call.next()).isEqualTo(TestJson.result(1));
        assertThat(Wait.next(child.listening().withdrawn)).isEqualTo("\"s.1-1\"");
        assertThat(child.listening().next()).contains("s.1-1").contains("roots/list");
        child.connection().answer(TestJson.inbound("{'jsonrpc':'2.0','id':'s.1-1','result':{}}"));
        assertThat(child.hears()).isEqualTo(TestJson.result(3));
    }

    @Test
    void anAnswerReachesAChildThatHasNotAnsweredInitialize() {
        String script = "read line; echo '" + TestJson.of("{'jsonrpc':'2.0','id':1,'method':'roots/list'}")
                + "'; read line; echo '" + TestJson.INITIALIZED_RESULT + "'; " + StdioBed.READS;
        try (StdioBed bed = new StdioBed(StdioBed.script(script), StdioBed.HASTY)) {
            CompletionStage<Backend.Outcome> opening = bed.open();
            assertThat(bed.listening.next()).contains("roots/list");

            bed.listening.answerEarly(TestJson.inbound("{'jsonrpc':'2.0','id':'s.1-1','result':{}}"));

            StdioBed.opened(opening);
        }
    }

    @Test
    void whatTheClientWritesOnSeveralLinesReachesTheChildOnOne() {
        child.connection().notify(TestJson.inbound("{\n  'jsonrpc' : '2.0',\r\n  'method' : 'notifications/a\\nb'\n}"));

        assertThat(child.hears())
                .isEqualTo(TestJson.of("{   'jsonrpc' : '2.0',    'method' : 'notifications/a\\nb' }"));
    }

    @Test
    void theClientsCancellationIsPassedOn() {
        RecordedCall call = child.call(1, "tools/call");

        call.cancel(Optional.of(TestJson.inbound(
                "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':1,'reason':'bored'}}")));

        assertThat(child.hears()).contains("\"requestId\":1,\"reason\":\"bored\"");
    }

    @Test
    void aCancellationThatTheClientDidNotSendIsComposed() {
        RecordedCall call = child.call("{'jsonrpc':'2.0','id':'x','method':'tools/call'}");

        call.cancel(Optional.empty());

        assertThat(child.hears()).contains("\"notifications/cancelled\"").contains("\"requestId\":\"x\"");
    }
}
