package dev.holdfast.json;

import static dev.holdfast.json.MessageText.having;
import static dev.holdfast.json.MessageText.message;
import static dev.holdfast.json.MessageText.text;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import org.junit.jupiter.api.Test;

class EnvelopeConversionTest {
    private static final RequestId SEVEN = new RequestId("7");

    @Test
    void aRequestGoesInWithItsBytesAndContext() {
        Envelope message = having("'id':7,'method':'tools/call'");
        InboundMessage inbound = message.inbound("context");

        assertThat(inbound.kind()).isEqualTo(InboundMessage.Kind.REQUEST);
        assertThat(inbound.id()).isEqualTo(SEVEN);
        assertThat(inbound.method()).isEqualTo("tools/call");
        assertThat(inbound.bytes()).isSameAs(message.bytes());
        assertThat(inbound.context()).isEqualTo("context");
        assertThat(inbound.journal()).isEqualTo(JournalChange.NONE);
    }

    @Test
    void aResultAndAnErrorBothGoInAsResponses() {
        for (String answer : new String[] {"'result':{}", "'error':{}"}) {
            InboundMessage inbound = having("'id':7," + answer).inbound(InboundMessage.NO_CONTEXT);
            assertThat(inbound.kind()).isEqualTo(InboundMessage.Kind.RESPONSE);
            assertThat(inbound.id()).isEqualTo(SEVEN);
            assertThat(inbound.method()).isEmpty();
        }
    }

    @Test
    void theJournalKeepsWhatAFreshBackendMustHear() {
        assertThat(journal("'method':'notifications/initialized'"))
                .isEqualTo(new JournalChange.Put("notifications/initialized"));
        assertThat(journal("'id':1,'method':'logging/setLevel'")).isEqualTo(new JournalChange.Put("logging/setLevel"));
        assertThat(journal("'id':1,'method':'resources/subscribe','params':{'uri':'test://\\u0061'}"))
                .isEqualTo(new JournalChange.Put("resources/subscribe:test://a"));
        assertThat(journal("'id':1,'method':'resources/unsubscribe','params':{'uri':'test://a'}"))
                .isEqualTo(new JournalChange.Remove("resources/subscribe:test://a"));
    }

    @Test
    void theJournalKeepsNothingElse() {
        assertThat(journal("'id':1,'method':'tools/call','params':{'uri':'a'}")).isEqualTo(JournalChange.NONE);
        assertThat(journal("'id':1,'method':'resources/subscribe'")).isEqualTo(JournalChange.NONE);
        assertThat(journal("'id':1,'method':'resources/unsubscribe'")).isEqualTo(JournalChange.NONE);
        assertThat(journal("'id':1,'method':'notifications/initialized'")).isEqualTo(JournalChange.NONE);
        assertThat(journal("'id':1,'method':'initialize'")).isEqualTo(JournalChange.NONE);
        assertThat(journal("'id':1,'result':{'uri':'a'}")).isEqualTo(JournalChange.NONE);
    }

    @Test
    void whatABackendSaysGetsItsKind() {
        assertThat(kind("'id':7,'result':{}")).isEqualTo(EventKind.RESPONSE);
        assertThat(kind("'id':7,'error':{}")).isEqualTo(EventKind.ERROR);
        assertThat(kind("'id':7,'method':'sampling/createMessage'")).isEqualTo(EventKind.SERVER_REQUEST);
        assertThat(kind("'id':7,'method':'ping'")).isEqualTo(EventKind.PING);
        assertThat(kind("'method':'notifications/progress'")).isEqualTo(EventKind.PROGRESS);
        assertThat(kind("'method':'notifications/message'")).isEqualTo(EventKind.LOG);
        assertThat(kind("'method':'notifications/resources/updated'")).isEqualTo(EventKind.NOTIFICATION);
        assertThat(kind("'method':'ping'")).isEqualTo(EventKind.NOTIFICATION);
    }

    @Test
    void whatABackendSaysGoesOutOnOneLine() {
        OutboundMessage outbound =
                message("{\n'jsonrpc':'2.0','id':7,'result':{}}").outbound();

        assertThat(outbound.id()).isEqualTo(SEVEN);
        assertThat(text(outbound.bytes())).isEqualTo("{ 'jsonrpc':'2.0','id':7,'result':{}}");
    }

    @Test
    void anErrorWithoutAnIdGoesNowhere() {
        Envelope message = having("'id':null,'error':{}");

        assertThatIllegalStateException().isThrownBy(message::outbound);
        assertThatIllegalStateException().isThrownBy(() -> message.inbound("context"));
    }

    private static JournalChange journal(String members) {
        return having(members).inbound(InboundMessage.NO_CONTEXT).journal();
    }

    private static byte kind(String members) {
        return having(members).outbound().kind();
    }
}
