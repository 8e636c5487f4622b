package dev.holdfast.gateway.stdio;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.TestJson;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The ids of requests on their way to a child, and answers that are none. */
@Timeout(60)
class StdioIdsTest {
    private static final Pattern ID = Pattern.compile("\"(?:id|requestId)\":(\\d+)");
    private static final Pattern TOKEN = Pattern.compile("\"progressToken\":(\\d+)");
    private static final String LOG = TestJson.notification("notifications/message");

    @AutoClose
    @SuppressWarnings("NullAway.Init")
    private Puppet child;

    @BeforeEach
    void start(@TempDir Path folder) throws IOException {
        child = new Puppet(folder);
    }

    /** Starts a call without hearing what the child gets of it. */
    private RecordedCall unheard(String request) {
        RecordedCall call = new RecordedCall();
        child.connection().call(TestJson.inbound(request), call);
        return call;
    }

    private static String calling(String id) {
        return "{'jsonrpc':'2.0', 'id' : " + id + " ,'method':'tools/call','params':{'_meta':{'progressToken':" + id
                + "}}}";
    }

    /** The id, a small number, in what the child heard. */
    private static int id(String heard) {
        Matcher matcher = ID.matcher(heard.replace(" ", ""));
        assertThat(matcher.find()).as(heard).isTrue();
        return Integer.parseInt(matcher.group(1));
    }

    /** The progress token, a small number, in what the child heard. */
    private static int token(String heard) {
        Matcher matcher = TOKEN.matcher(heard);
        assertThat(matcher.find()).as(heard).isTrue();
        return Integer.parseInt(matcher.group(1));
    }

    private void drained() {
        child.says(LOG);
        assertThat(child.listening().next()).isEqualTo(LOG);
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "7", "2147483647", "'init'", "'5f2c7c1e-4b0e-4d63-9d5e-0c3d5b6a7e8f'"})
    void anIdThatAnyServerGivesBackIsPassedOn(String id) {
        RecordedCall call = unheard(calling(id));

        assertThat(child.hears()).isEqualTo(TestJson.of(calling(id)));
        child.says("{'jsonrpc':'2.0','id':" + id + ",'result':{}}");

        assertThat(call.next()).isEqualTo(TestJson.of("{'jsonrpc':'2.0','id':" + id + ",'result':{}}"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "9007199254740993",
                "2147483648",
                "-1",
                "123456789012345678901234567890",
                "'\\u00fc'",
                "'a\\\\b'",
                "'0123456789012345678901234567890123456789012345678901234567890123456789'",
            })
    void anyOtherIsReplacedByASmallNumberAndRestored(String id) {
        RecordedCall call = unheard(calling(id));

        String heard = child.hears();
        int theirs = id(heard);
        assertThat(heard)
                .isEqualTo(TestJson.of(calling(id))
                        .replaceFirst("(\"id\" : ).*? ,", "$1" + theirs + " ,")
                        .replaceFirst("(\"progressToken\":).*?}}}", "$1" + token(heard) + "}}}"));
        child.says("{'result':{'id':5},'id' : " + theirs + " ,'jsonrpc':'2.0'}");

        assertThat(call.next())
                .matches(Pattern.quote(TestJson.of("{'result':{'id':5},'id' : ")) + ".+"
                        + Pattern.quote(TestJson.of(" ,'jsonrpc':'2.0'}")))
                .contains(TestJson.inbound(calling(id)).requiredId().token());
    }

    @Test
    void errorsAreRestoredToo() {
        RecordedCall call = unheard(calling("9007199254740993"));
        int theirs = id(child.hears());

        child.says("{'jsonrpc':'2.0','id':" + theirs + ",'error':{'code':-32602,'message':'no'}}");

        assertThat(call.next())
                .isEqualTo(
                        TestJson.of("{'jsonrpc':'2.0','id':9007199254740993,'error':{'code':-32602,'message':'no'}}"));
    }

    @Test
    void noTwoRunningCallsHaveOneId() {
        RecordedCall large = unheard(calling("9007199254740993"));
        int theirs = id(child.hears());
        RecordedCall small = unheard(calling(String.valueOf(theirs)));
        int other = id(child.hears());

        assertThat(other).isNotEqualTo(theirs);
        child.says(TestJson.result(other));
        child.says(TestJson.result(theirs));

        assertThat(small.next()).isEqualTo(TestJson.result(theirs));
        assertThat(large.next()).contains("9007199254740993");
    }

    @Test
    void aCancellationNamesTheIdThatTheChildKnows() {
        RecordedCall call = unheard(calling("9007199254740993"));
        int theirs = id(child.hears());

        call.cancel(
                Optional.of(
                        TestJson.inbound(
                                "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':9007199254740993,'reason':'r'}}")));

        assertThat(child.hears())
                .isEqualTo(TestJson.of("{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':"
                        + theirs + ",'reason':'r'}}"));
    }

    @Test
    void whatIsCancelledBeforeTheChildHasItIsNotGivenToIt() {
        RecordedCall call = new RecordedCall();
        call.cancel(Optional.of(
                TestJson.inbound("{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':1}}")));
        child.connection().call(TestJson.inbound(calling("1")), call);
        unheard(calling("2"));

        assertThat(child.hears()).contains("notifications/cancelled");
        assertThat(child.hears()).isEqualTo(TestJson.of(calling("2")));
    }

    @Test
    void soDoesThatOfATimeLimit() {
        RecordedCall call = unheard(calling("9007199254740993"));
        int theirs = id(child.hears());

        call.cancel(Optional.empty());

        assertThat(id(child.hears())).isEqualTo(theirs);
    }

    @Test
    void progressIsThatOfTheClientsToken() {
        RecordedCall call = unheard(calling("9007199254740993"));
        int theirs = token(child.hears());
        child.listening().followed = true;
        unheard(calling("8"));

        child.says("{'jsonrpc':'2.0','method':'notifications/progress','params':{'progressToken':" + theirs
                + ",'progress':1}}");

        assertThat(call.next()).contains("\"progressToken\":9007199254740993");
    }

    @Test
    void claudeAiMcp539_callsWithOneIdAndOneTokenAreToldApart() {
        RecordedCall first = unheard(calling("1"));
        assertThat(child.hears()).isEqualTo(TestJson.of(calling("1")));
        RecordedCall second = unheard(calling("1"));
        String heard = child.hears();

        String progress =
                "{'jsonrpc':'2.0','method':'notifications/progress','params':{'progressToken':%s,'progress':%s}}";
        child.says(progress.formatted(token(heard), 2));
        child.says(progress.formatted(1, 1));
        child.says(TestJson.result(id(heard)));
        child.says(TestJson.result(1));

        assertThat(first.next()).isEqualTo(TestJson.of(progress.formatted(1, 1)));
        assertThat(first.next()).isEqualTo(TestJson.result(1));
        assertThat(second.next()).isEqualTo(TestJson.of(progress.formatted(1, 2)));
        assertThat(second.next()).isEqualTo(TestJson.result(1));
        second.cancel(Optional.empty());
        assertThat(child.listening().waiting()).isZero();
    }

    @Test
    void aLateAnswerIsNotThatOfALaterCallWithTheSameId() {
        RecordedCall first = child.call(5, "tools/call");
        first.cancel(Optional.of(
                TestJson.inbound("{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':5}}")));
        child.hears();
        RecordedCall second = unheard(calling("5"));
        int theirs = id(child.hears());

        child.says("{'jsonrpc':'2.0','id':5,'result':{'late':true}}");
        child.says("{'jsonrpc':'2.0','id':" + theirs + ",'result':{'late':false}}");

        assertThat(second.next()).isEqualTo(TestJson.of("{'jsonrpc':'2.0','id':5,'result':{'late':false}}"));
        assertThat(first.waiting()).isZero();
    }

    @Test
    void aCancellationThatComesAfterTheAnswerIsNotThatOfALaterCallWithTheSameId() {
        RecordedCall first = child.call(5, "tools/call");
        child.says(TestJson.result(5));
        first.next();
        RecordedCall second = unheard(calling("5"));
        int theirs = id(child.hears());

        first.cancel(Optional.empty());

        unheard(calling("6"));
        assertThat(child.hears()).as("no cancellation").contains("tools/call");
        child.says(TestJson.result(theirs));
        assertThat(second.next()).isEqualTo(TestJson.result(5));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'id':1,'result':{}}",
                "{'jsonrpc':'1.0','id':1,'result':{}}",
                "{'id':1,'error':{'code':-1,'message':'m'}}",
                "{'jsonrpc':'2.0','id':1,'error':'m'}",
                "{'jsonrpc':'2.0','id':1,'result':{},'error':{'code':-1,'message':'m'}}",
                "{'jsonrpc':'2.0','id':1}",
                "{'jsonrpc':'2.0','id':1,'content':[]}",
                "{'jsonrpc':'2.0','id':1,'error':null}",
                "{'jsonrpc':'2.0','id':1.0,'result':{}}",
                "{'jsonrpc':'2.0','id':1e0,'result':{}}",
                "{'jsonrpc':'2.0','id':1,'id':1,'result':{}}",
                "{'jsonrpc':'2.0','id':1,'method':'x','result':{}}",
                "{'result':{'x':NaN},'jsonrpc':'2.0','id':1}",
                "{'result':{'x':'\u0000'},'jsonrpc':'2.0','id':1}",
                "{'result':{'x':[1,2},'jsonrpc':'2.0','id':1}",
                "[{'id':1,'result':{}}]",
            })
    void anAnswerThatIsNoJsonRpcEndsItsCallWithAnError(String answer) {
        RecordedCall call = child.call(1, "tools/call");

        child.says(answer);

        assertThat(call.next())
                .startsWith(TestJson.of("{'jsonrpc':'2.0','id':1,'error':{'code':-32000,"))
                .contains("the server process sent an answer that is not JSON-RPC: ");
    }

    @Test
    void anAnswerThatIsNotUtf8EndsItsCallWithAnError() {
        RecordedCall call = child.call(1, "tools/call");

        child.says("{'jsonrpc':'2.0','id':1,'result':{'content':[{'type':'text','text':'caf\u00e9'}]}}", ISO_8859_1);

        assertThat(call.next())
                .startsWith(TestJson.of("{'jsonrpc':'2.0','id':1,'error':{'code':-32000,"))
                .contains("the body is not UTF-8 at byte 71");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{'jsonrpc':'2.0','id':1,'result':{'x':DEEP}}",
                "{'result':{'x':DEEP},'jsonrpc':'2.0','id':1}",
            })
    void anAnswerThatIsNestedTooDeeplyEndsItsCallWithAnError(String answer) {
        RecordedCall call = child.call(1, "tools/call");

        child.says(answer.replace("DEEP", "[".repeat(1_001) + "]".repeat(1_001)));

        assertThat(call.next())
                .startsWith(TestJson.of("{'jsonrpc':'2.0','id':1,'error':{'code':-32000,"))
                .contains("nested deeper than 1000 levels");
    }

    @Test
    void aBatchWithABadMessageEndsEveryCallThatItAnswers() {
        RecordedCall first = child.call(1, "tools/call");
        RecordedCall second = child.call(2, "tools/call");
        RecordedCall third = child.call(3, "tools/call");

        child.says(
                "[{'jsonrpc':'2.0','id':1,'result':{}},{'jsonrpc':'2.0','id':3,'method':'ping'},{'id':2,'result':{}}]");
        child.says(TestJson.result(3));

        assertThat(first.next())
                .startsWith(TestJson.of("{'jsonrpc':'2.0','id':1,'error':{'code':-32000,"))
                .contains("message 3 of the batch: jsonrpc must be");
        assertThat(second.next()).startsWith(TestJson.of("{'jsonrpc':'2.0','id':2,'error':{'code':-32000,"));
        assertThat(third.next()).isEqualTo(TestJson.result(3));
    }

    @Test
    void anAnswerWithHalfACharacterInANameIsPassedOnAsItIs() {
        RecordedCall call = child.call(1, "tools/call");
        String answer =
                TestJson.of("{'result':{'content':[],'structuredContent':{'\\ud83d':1}},'jsonrpc':'2.0','id':1}");

        child.says(answer);

        assertThat(call.next()).isEqualTo(answer);
    }

    @Test
    void theErrorIsUnderTheClientsId() {
        RecordedCall call = unheard(calling("9007199254740993"));

        child.says("{'id':" + id(child.hears()) + ",'result':{}}");

        assertThat(call.next()).startsWith(TestJson.of("{'jsonrpc':'2.0','id':9007199254740993,'error':"));
    }

    @Test
    void aRequestThatIsNoJsonRpcEndsNoCallOfTheClient() {
        RecordedCall call = child.call(1, "tools/call");

        child.says("{'id':1,'method':'roots/list'}");
        child.says("{'id':1,'method':'roots/list','result':{}}");
        child.says("{'level':'error','method':'tools/call','id':1,'error':'retrying'}");
        child.says("{'jsonrpc':'2.0','id':1,'method':'roots/list','params':[],'result':null}");
        child.says("{'jsonrpc':'2.0','id':1,'params':{}}");
        child.says("{'id':1,'level':'info'}");
        child.says("{'id':2,'result':{}}");
        child.says("{'jsonrpc':'2.0','id':2}");
        child.says(TestJson.result(1));

        assertThat(call.next()).isEqualTo(TestJson.result(1));
    }

    @Test
    void whatNamesNoCallDoesNotGoToAReplay() {
        RecordedCall replay = new RecordedCall();
        child.connection().replay(TestJson.request(3, "tools/list"), replay);
        child.hears();

        drained();
        child.says(TestJson.result(3));

        assertThat(replay.next()).isEqualTo(TestJson.result(3));
    }
}
