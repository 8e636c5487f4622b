package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.gateway.ScriptedUpstream.Asked;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Log level and subscriptions in a session that takes the place of a lost one at the upstream. */
@Timeout(60)
class UpstreamSettingsTest {
    private static final String LEVEL =
            "{'jsonrpc':'2.0','id':'init','method':'logging/setLevel','params':{'level':'info'}}";

    private final ScriptedUpstream upstream = new ScriptedUpstream();
    private final TestGateway gateway = TestGateway.before(upstream.url(), "Authorization");
    /** The session at the upstream that still lives. */
    private final AtomicReference<String> living = new AtomicReference<>("session-1");
    /** What was set in it, with the credentials it was set with. */
    private final List<String> set = new CopyOnWriteArrayList<>();

    UpstreamSettingsTest() {
        upstream.on("who", this::who);
        upstream.on("logging/setLevel", asked -> set(asked, "level"));
        upstream.on("resources/subscribe", asked -> set(asked, asked.body().replaceAll(".*\"uri\":\"(.)\".*", "$1")));
    }

    @AfterEach
    void close() {
        gateway.close();
        upstream.close();
    }

    private void who(Asked asked) throws IOException {
        if (asked.header("Mcp-Session-Id").equals(living.get())) {
            asked.result("done");
        } else {
            asked.status(404);
        }
    }

    private void set(Asked asked, String what) throws IOException {
        set.add(what + " " + asked.header("Authorization"));
        asked.result("set");
    }

    private HttpPeer connected() {
        return HttpPeer.connected(gateway.url(), "Authorization", "one");
    }

    private void forget() {
        living.set("session-2");
        set.clear();
    }

    private static String subscribe(String uri) {
        return "{'jsonrpc':'2.0','id':'init','method':'resources/subscribe','params':{'uri':'" + uri + "'}}";
    }

    private void refuse(int status, String... credentials) {
        upstream.on("logging/setLevel", asked -> {
            set.add("refused " + asked.header("Authorization"));
            if (List.of(credentials).contains(asked.header("Authorization"))) {
                asked.status(status);
            } else {
                asked.result("set");
            }
        });
    }

    @Test
    void settingsOfAClientThatUsesOneIdForEverythingAreSetAgain() {
        HttpPeer peer = connected();
        assertThat(peer.post(LEVEL).body()).contains("set");
        assertThat(peer.post(subscribe("a")).body()).contains("set");
        assertThat(peer.post(subscribe("b")).body()).contains("set");
        forget();

        assertThat(peer.post("{'jsonrpc':'2.0','id':'init','method':'who'}").body())
                .contains("\"id\":\"init\"")
                .contains("\"text\":\"done\"");
        assertThat(set).containsExactly("level one", "a one", "b one");
        assertThat(upstream.asked("initialize")).hasSize(2);
    }

    @ParameterizedTest
    @ValueSource(ints = {400, 401, 403, 413, 422, 500})
    void aSettingThatTheUpstreamRefusesToSetAgainDoesNotEndTheSession(int status) {
        HttpPeer peer = connected();
        assertThat(peer.post(LEVEL).body()).contains("set");
        assertThat(peer.post(subscribe("a")).body()).contains("set");
        forget();
        refuse(status, "one");

        assertThat(peer.call(1, "who")).contains("\"text\":\"done\"");
        assertThat(peer.call(2, "who")).contains("\"text\":\"done\"");
        assertThat(set).contains("a one");
        assertThat(upstream.asked("initialize")).hasSize(2);
    }

    @Test
    void aSettingThatLacksCredentialsIsSetWithThoseOfALaterRequest() {
        HttpPeer peer = connected();
        assertThat(peer.post(LEVEL).body()).contains("set");
        forget();
        refuse(401, "one");
        assertThat(peer.call(1, "who")).contains("\"text\":\"done\"");
        assertThat(peer.call(2, "who")).contains("\"text\":\"done\"");
        assertThat(set).containsExactly("refused one");

        HttpPeer fresh = peer.with("Authorization", "two");
        assertThat(fresh.call(3, "who")).contains("\"text\":\"done\"");

        Wait.until("the level is set with the other credentials", () -> set.contains("refused two"));
        assertThat(fresh.call(4, "who")).contains("\"text\":\"done\"");
        assertThat(set).containsExactly("refused one", "refused two");
        Wait.until("it is set no more", () -> {
            int before = set.size();
            // the gateway may not have read the answer yet, and then it tries once more
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(300));
            assertThat(peer.with("Authorization", "other " + before).call(5 + before, "who"))
                    .contains("\"text\":\"done\"");
            return set.size() == before;
        });
        assertThat(set).as("four attempts would be the limit").hasSizeLessThan(4);
    }

    @Test
    void credentialsThatNeverSufficeAreNotTriedForEver() {
        HttpPeer peer = connected();
        assertThat(peer.post(LEVEL).body()).contains("set");
        forget();
        refuse(403, "one", "2", "3", "4", "5", "6", "7");
        assertThat(peer.call(1, "who")).contains("\"text\":\"done\"");
        for (int id = 2; id <= 7; id++) {
            assertThat(peer.with("Authorization", "" + id).call(id, "who")).contains("\"text\":\"done\"");
            int tried = Math.min(id, 4);
            Wait.until("the level was tried", () -> set.size() == tried);
        }
        assertThat(set).containsExactly("refused one", "refused 2", "refused 3", "refused 4");
    }

    @Test
    void aLevelThatTheClientSetsItselfIsNotChangedBackToTheOneThatWasRefused() {
        HttpPeer peer = connected();
        assertThat(peer.post(LEVEL).body()).contains("set");
        forget();
        refuse(401, "one");
        assertThat(peer.call(1, "who")).contains("\"text\":\"done\"");

        HttpPeer fresh = peer.with("Authorization", "two");
        assertThat(fresh.post("{'jsonrpc':'2.0','id':2,'method':'logging/setLevel','params':{'level':'error'}}")
                        .body())
                .contains("set");
        assertThat(peer.with("Authorization", "three").call(3, "who")).contains("\"text\":\"done\"");

        assertThat(upstream.asked("logging/setLevel"))
                .extracting(asked -> asked.body().replaceAll(".*\"level\":\"(\\w+)\".*", "$1"))
                .containsExactly("info", "info", "error");
    }

    @Test
    void aSessionThatLacksCredentialsIsOpenedByTheNextRequest() {
        HttpPeer peer = connected();
        assertThat(peer.call(1, "who")).contains("\"text\":\"done\"");
        forget();
        upstream.on("initialize", asked -> {
            if (asked.header("Authorization").equals("one")) {
                asked.status(401);
            } else {
                asked.exchange().getResponseHeaders().set("Mcp-Session-Id", "session-2");
                asked.result("hello");
            }
        });

        assertThat(peer.call(2, "who")).contains("the upstream answered with HTTP status 401");
        assertThat(peer.with("Authorization", "two").call(3, "who")).contains("\"text\":\"done\"");
    }
}
