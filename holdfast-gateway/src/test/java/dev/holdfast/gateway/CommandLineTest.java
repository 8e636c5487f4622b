package dev.holdfast.gateway;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.holdfast.gateway.http.StoreHealth;
import dev.holdfast.gateway.process.ServerCommand;
import dev.holdfast.gateway.text.GatewayException;
import dev.holdfast.spi.SessionStore.Durability;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CommandLineTest {
    @TempDir
    @SuppressWarnings("NullAway.Init")
    private Path folder;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    @AfterEach
    void logAsBefore() {
        Logging.level("warn");
    }

    private int run(String... args) {
        return Main.run(new PrintWriter(out, true), new PrintWriter(err, true), args);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "nothing                           | nothing to do; try 'holdfast serve' or 'holdfast --help'",
                "surve                             | 'unknown argument ''surve''; usage: holdfast serve [OPTIONS] [--upstream URL | --config FILE | -- COMMAND ARGS...]'",
                "serve node                        | 'unknown argument ''node''; usage: holdfast serve [OPTIONS] [--upstream URL | --config FILE | -- COMMAND ARGS...]'",
                "serve --                          | no command behind --",
                "serve --colour                    | unknown option --colour",
                "serve --port                      | --port needs a value: --port PORT",
                "serve --port http                 | --port: 'http' is no whole number",
                "serve --port 65536                | --port must be 0 to 65535, not 65536",
                "serve --heartbeat 15              | --heartbeat: '15' is no time; write it as 500ms, 15s, 30m, 2h or 0",
                "serve --heartbeat 0               | --heartbeat must be 100ms to 1h, not 0",
                "serve --retry 2h                  | --retry must be 0 to 1h, not 2h",
                "serve --idle-timeout 0            | --idle-timeout must be 1ms to 8760h, not 0",
                "serve --reconnect-grace 9999h     | --reconnect-grace must be 0 to 8760h, not 9999h",
                "serve --max-connection-age 999ms  | --max-connection-age must be 0, or 1s to 8760h, not 999ms",
                "serve --start-timeout 0           | --start-timeout must be 1ms to 1h, not 0",
                "serve --drain-timeout 61m         | --drain-timeout must be 0 to 1h, not 61m",
                "serve --log-level loud            | --log-level must be one of error, warn, info, debug, trace, not loud",
                "serve --access-log some           | --access-log must be one of off, sessions, calls, not some",
                "serve --max-sessions 0            | --max-sessions must be 1 to 10000000, not 0",
                "serve --principal-share 101 | --principal-share must be 1 to 100, not 101",
                "serve --max-principal-sessions -1 | --max-principal-sessions must be 1 to 10000000, not -1",
                "serve --max-calls 10000001        | --max-calls must be 1 to 10000000, not 10000001",
                "serve --upstream ftp://a/mcp       | --upstream must be as in https://mcp.example/mcp, not ftp://a/mcp",
                "serve --upstream ftp://a/mcp?key=1 | --upstream must be as in https://mcp.example/mcp, not ftp://a/mcp",
                "serve --upstream http://u:p@a/mcp  | --upstream must be as in https://mcp.example/mcp, not one with a user or a password",
                "serve --upstream http://a/ -- cat  | --upstream takes the place of COMMAND: give one of them",
                "serve --forward-header Cookie      | --forward-header is for --upstream",
                "serve --upstream http://a/ --forward-header Host | --forward-header must be a header that is the client's own, such as Authorization, not Host",
                "serve --upstream http://a/ --forward-header A --store redis://b | --forward-header needs a store of this gateway's own: a request that another gateway passes on through Redis comes without its headers",
                "serve --upstream http://a/ --max-children 5 | --max-children is for the processes of COMMAND, in whose place --upstream is given",
                "serve --upstream http://a/ --show-child-errors | --show-child-errors is for the processes of COMMAND, in whose place --upstream is given",
                "serve --max-children 5            | --max-children is for the processes of COMMAND, and none is given: put it behind --",
                "serve --show-child-errors         | --show-child-errors is for the processes of COMMAND, and none is given: put it behind --",
                "serve --start-timeout 5s          | '--start-timeout is for COMMAND or --upstream, and neither is given'",
                "serve --principal-share 60        | '--principal-share is for the principals of --auth-token-file or --oauth-issuer, and neither is given'",
                "serve --max-principal-sessions 5  | '--max-principal-sessions is for the principals of --auth-token-file or --oauth-issuer, and neither is given'",
                "serve --console perhaps           | --console must be one of on, off, not perhaps",
                "serve --console-operator ann      | '--console-operator is for the principals of --auth-token-file or --oauth-issuer, and neither is given'",
                "serve --path /console             | --path must not be a page of the gateway's own: /console",
                "serve --path /console/data        | --path must not be a page of the gateway's own: /console/data",
                "serve --sse-path /console/session | --sse-path must not be a page of the gateway's own: /console/session",
                "serve --path /.well-known/oauth-protected-resource | --path must not be a page of the gateway's own: /.well-known/oauth-protected-resource",
                "serve --message-path /.well-known/oauth-protected-resource/a | --message-path must not be a page of the gateway's own: /.well-known/oauth-protected-resource/a",
                "serve --insecure --auth-token-file f | '--insecure serves who has no token, and --auth-token-file only who has one: give one of them'",
                "serve --insecure --oauth-issuer https://a | '--insecure serves who has no token, and --oauth-issuer only who has one: give one of them'",
                "serve --auth-token-file f --oauth-issuer https://a | '--auth-token-file does not go with --oauth-issuer: give one of them'",
                "serve --oauth-issuer http://a.example | --oauth-issuer must be as in https://login.example/realm, with http on this machine only, not http://a.example",
                "serve --oauth-issuer https://a?b=c | --oauth-issuer must be as in https://login.example/realm, with http on this machine only, not https://a?b=c",
                "serve --oauth-audience a          | --oauth-audience is for --oauth-issuer, which is not given",
                "serve --oauth-scope a             | --oauth-scope is for --oauth-issuer, which is not given",
                "serve --oauth-issuer https://a --oauth-scope a\"b | --oauth-scope must be of printable ASCII without blanks, \" and \\, up to 1024 characters together, not a\"b",
                "serve --oauth-issuer https://a --upstream http://b/ --forward-header X,authorization | '--forward-header must not be Authorization with --oauth-issuer: a token that was made for this server goes to no other'",
                "serve --max-children 0            | --max-children must be 1 to 10000000, not 0",
                "serve --max-request-size 2g       | --max-request-size must be 1 to 1g, not 2g",
                "serve --max-request-size 0        | --max-request-size must be 1 to 1g, not 0",
                "serve --max-request-size big      | --max-request-size: 'big' is no size; write it as 4096, 512k, 4m or 1g",
                "serve --allowed-host http://a     | --allowed-host must be as in mcp.example, mcp.example:8443 or *, not http://a",
                "serve --allowed-host a,b:c        | --allowed-host must be as in mcp.example, mcp.example:8443 or *, not b:c",
                "serve --allowed-origin a.example  | --allowed-origin must be as in https://app.example, http://dev.example:3000 or *, not a.example",
                "serve --allowed-origin http://a/  | --allowed-origin must be as in https://app.example, http://dev.example:3000 or *, not http://a/",
                "serve --auth-token-file           | --auth-token-file needs a value: --auth-token-file FILE",
                "serve --store redis:x             | --store must be memory, rocksdb:DIR or redis://HOST:PORT, not redis:x",
                "serve --store rocksdb:            | --store must be memory, rocksdb:DIR or redis://HOST:PORT, not rocksdb:",
                "serve --store-sync=yes             | --store-sync stands alone, or with =true or =false, not =yes",
                "serve --store memory --store-sync | --store-sync needs a store on disk, and --store is memory",
                "serve --store redi://me:secret@h  | --store must be memory, rocksdb:DIR or redis://HOST:PORT, not redi://...@h",
                "serve --store redis://me:secret@h:no | --store: the address of Redis must be like redis://host:6379 with one of the schemes redis, rediss, redis-sentinel, rediss-sentinel, redis-cluster, rediss-cluster",
                "serve --store redis:me:secret@h   | --store must be memory, rocksdb:DIR or redis://HOST:PORT, not redis:...@h",
                "serve --store redis://me:secret@h --store-password-file f | --store-password-file takes the place of the password in --store: give one of them",
                "serve --store redis://:secret@h --store-password-file f | --store-password-file takes the place of the password in --store: give one of them",
                "serve --store-password-file f     | --store-password-file needs --store redis://..., and --store is on disk",
                "serve --store memory --store-password-file f | --store-password-file needs --store redis://..., and --store is memory",
                "serve --sentinel-password-file f  | --sentinel-password-file needs --store redis-sentinel://..., and --store is on disk",
                "serve --store redis://u:secret@h --sentinel-password-file f | --sentinel-password-file needs --store redis-sentinel://..., and --store is redis://...",
                "serve --store redis://h --store-sync | --store-sync needs a store on disk, and --store is redis",
                "serve --store redis://h --lease 100ms | --lease must be 500ms to 5m, not 100ms",
                "serve --store redis://h --lease 2s    | --lease must be longer than the 2s that Redis may take to answer, not 2s",
                "serve --store redis://h --node-name a/b | --node-name must be 1 to 64 letters, digits, dots, dashes and underscores, not a/b",
                "serve --store redis://h --redis-prefix {a} | --redis-prefix: a prefix has at most 100 characters and no braces, got {a}",
                "serve --store memory --lease 5s   | --lease needs --store redis://..., and --store is memory",
                "serve --node-name a               | --node-name needs --store redis://..., and --store is on disk",
                "serve --redis-prefix a            | --redis-prefix needs --store redis://..., and --store is on disk",
                "serve --store memory --take-over-store | --take-over-store needs a store on disk or in Redis, and --store is memory",
                "serve --store memory --park-after 1m | --park-after needs a store on disk or in Redis, and --store is memory",
                "serve --park-after 9s             | --park-after must be 10s to 8760h, not 9s",
                "serve --path mcp                  | --path must begin with '/', not be mcp",
                "serve --path /a//b                | --path must be of letters, digits and ._~- between single '/': /a//b",
                "serve --path /../mcp              | --path must not have . or .. between its '/', which clients take away: /../mcp",
                "serve --path /mcp/.               | --path must not have . or .. between its '/', which clients take away: /mcp/.",
                "serve --sse-path /a/../sse        | --sse-path must not have . or .. between its '/', which clients take away: /a/../sse",
                "serve --path=                     | --path must begin with '/', and is empty",
                "serve --path //                   | --path must be of letters, digits and ._~- between single '/': //",
                "serve --path /mcp/                | --path must be of letters, digits and ._~- between single '/': /mcp/",
                "serve --path /mcp?a=b             | --path must be of letters, digits and ._~- between single '/': /mcp?a=b",
                "serve --path /mcp#a               | --path must be of letters, digits and ._~- between single '/': /mcp#a",
                "serve --path /m%63p               | --path must be of letters, digits and ._~- between single '/': /m%63p",
                "serve --path /mcp;a               | --path must be of letters, digits and ._~- between single '/': /mcp;a",
                "serve --message-path /mcp/*       | --message-path must be of letters, digits and ._~- between single '/': /mcp/*",
                "serve --keep-alive 0              | --keep-alive must be 1s to 1h, not 0",
                "serve --base-url mcp.example      | --base-url must be as in https://mcp.example/tools or /tools, without '/' at its end, not mcp.example",
                "serve --base-url /tools/          | --base-url must be as in https://mcp.example/tools or /tools, without '/' at its end, not /tools/",
                "serve --base-url=                 | --base-url must be as in https://mcp.example/tools or /tools, without '/' at its end, not empty",
                "serve --base-url http://a/..      | --base-url must be as in https://mcp.example/tools or /tools, without '/' at its end, not http://a/..",
                "serve --base-url /a --no-sse      | --base-url is for HTTP+SSE, which --no-sse switches off",
                "serve --sse-path /a --no-sse      | --sse-path is for HTTP+SSE, which --no-sse switches off",
                "serve --message-path /a --no-sse  | --message-path is for HTTP+SSE, which --no-sse switches off",
                "serve --sse-reconnect-grace 1m --no-sse | --sse-reconnect-grace is for HTTP+SSE, which --no-sse switches off",
                "serve --path /api/sse             | '--path, which is /api/sse, must not end with --sse-path, which is /sse: change one of them, or give --no-sse'",
                "serve --path /e --message-path /message/e | '--message-path, which is /message/e, must not end with --path, which is /e: change one of them, or give --no-sse'",
                "serve --sse-path /a --message-path /a | '--sse-path, which is /a, must not end with --message-path, which is /a: change one of them, or give --no-sse'",
                "serve --path /stats               | --path must not be a page of the gateway's own: /stats",
                "serve --path /metrics             | --path must not be a page of the gateway's own: /metrics",
                "serve --config f -- cat           | --config takes the place of COMMAND: give one of them",
                "serve --config f --path /a        | --path does not go with --config, whose servers are at /NAME/mcp and /NAME/sse",
                "serve --config f --sse-path /a    | --sse-path does not go with --config, whose servers are at /NAME/mcp and /NAME/sse",
                "serve --config f --upstream http://a/ | --upstream does not go with --config: say it in the file, for each server",
                "serve --config f --forward-header A   | --forward-header does not go with --config: say it in the file, for each server",
                "serve --config f --principal-share 9  | --principal-share is for the principals of --auth-token-file or --oauth-issuer, and neither is given",
                "connect                           | the URL is missing; usage: holdfast connect [OPTIONS] URL",
                "connect ftp://a/mcp               | '''ftp://a/mcp'' is no URL with http or https'",
                "connect http://me:secret@a/mcp    | the URL must carry no credentials: they are given by --header-file",
                "connect http://a/mcp more         | unknown argument 'more'; usage: holdfast connect [OPTIONS] URL",
                "connect http://a/mcp -- cat       | unknown argument 'cat'; usage: holdfast connect [OPTIONS] URL",
                "connect --header secret http://a/ | a header is written as 'Name: value'",
                "connect --header Host:secret http://a/ | the header 'Host' cannot be set",
                "connect --patience 9999h http://a/     | --patience must be 0 to 8760h, not 9999h",
                "serve --path /healthz             | --path must not be a page of the gateway's own: /healthz",
            })
    void aWrongCommandLineIsNamedInOneLine(String line, String message) {
        int code = run(line.equals("nothing") ? new String[0] : line.split(" "));

        assertThat(err).hasToString("holdfast: " + message + System.lineSeparator());
        assertThat(code).isEqualTo(2);
        assertThat(out.toString()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "serve --store rocksdb:M\uFFFD\uFFFDller          | --store",
                "serve --store=rocksdb:M\uFFFD\uFFFDller          | --store",
                "serve -- python3 server.py --dir=M\uFFFDller | word 3 of the command",
                "serve -- M\uFFFDller --port 1               | word 1 of the command",
                "connect http://a/M\uFFFDller                | argument 2",
                "M\uFFFDller                                 | argument 1",
            })
    void aWordThatIsNotInTheEncodingOfTheLocaleIsNamed(String line, String where) {
        int code = run(line.split(" "));

        assertThat(err.toString()).startsWith("holdfast: " + where + " is not in the encoding of the locale (");
        assertThat(err.toString()).hasLineCount(1).doesNotContain("ller");
        assertThat(code).isEqualTo(2);
        assertThat(out.toString()).isEmpty();
    }

    @Test
    void aCommandThatIsNotThereIsNamed() {
        assertThat(run("serve", "--", "no-such-server", "--flag")).isEqualTo(1);
        assertThat(err).hasToString("holdfast: the command was not found: no-such-server" + System.lineSeparator());
    }

    @Test
    void aCommandThatCannotBeExecutedIsNotCalledMissing(@TempDir Path folder) throws IOException {
        Path file = Files.createFile(folder.resolve("server"));
        assertThat(run("serve", "--", file.toString())).isEqualTo(1);
        assertThat(run("serve", "--", folder.toString())).isEqualTo(1);
        assertThat(run("serve", "--", folder + "/none")).isEqualTo(1);
        assertThat(err.toString().lines())
                .containsExactly(
                        "holdfast: the command is not executable: " + file,
                        "holdfast: the command is a folder: " + folder,
                        "holdfast: the command was not found: " + folder + "/none");
    }

    @Test
    void aHostThatIsNotThereIsNamed() {
        assertThat(run("serve", "--host", "no-such-host.invalid")).isEqualTo(1);
        assertThat(err)
                .hasToString("holdfast: cannot listen on no-such-host.invalid: no such host" + System.lineSeparator());
    }

    @Test
    void aPortThatIsTakenIsNamed() throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            String port = Integer.toString(taken.getLocalPort());

            assertThat(run("serve", "--port", port)).isEqualTo(1);
            assertThat(err)
                    .hasToString("holdfast: port " + port + " of 127.0.0.1 is taken; choose another with --port"
                            + System.lineSeparator());
        }
    }

    @Test
    void anAddressThatOthersCanReachIsNotServedToWhoeverComes() {
        assertThat(run("serve", "--host", "0.0.0.0", "--port", "0")).isEqualTo(1);
        assertThat(err)
                .hasToString(
                        "holdfast: others can reach 0.0.0.0: give them tokens by --auth-token-file or --oauth-issuer,"
                                + " or serve whoever comes by --insecure" + System.lineSeparator());
    }

    @Test
    void aTokenFileThatIsNotThereIsNamed() {
        assertThat(run("serve", "--port", "0", "--auth-token-file", "no-such-file"))
                .isEqualTo(1);
        assertThat(err)
                .hasToString("holdfast: --auth-token-file no-such-file: there is no such file; make it, or name another"
                        + System.lineSeparator());
    }

    @Test
    void aFileOfServersThatIsNotThereIsNamed() {
        assertThat(run("serve", "--config", "no-such-file")).isEqualTo(1);
        assertThat(err)
                .hasToString("holdfast: --config no-such-file: there is no such file; make it, or name another"
                        + System.lineSeparator());
    }

    @Test
    void aFolderThatIsInUseIsNamed() {
        try (StoreChoice.Open other = new StoreChoice.RocksDb(folder, Durability.PROCESS_DEATH, false)
                .open(new ServerChoice.Demo().identity())) {
            assertStoreIsRefused("is in use: one process at a time may write to it; choose another by --store");
            assertThat(other.sessions().promise().durability()).isEqualTo(Durability.PROCESS_DEATH);
        }
    }

    @Test
    void anOpenFolderIsLookedAt() {
        try (StoreChoice.Open open = new StoreChoice.RocksDb(folder, Durability.POWER_LOSS, false)
                .open(new ServerChoice.Demo().identity())) {
            StoreHealth health = open.health().get();

            assertThat(health.survives()).isEqualTo(Durability.POWER_LOSS);
            assertThat(health.bytes().orElseThrow()).isPositive();
            assertThat(health.state()).isEqualTo(StoreHealth.State.WELL);
        }
    }

    @Test
    void aFolderOfSomebodyElseIsNamed() throws IOException {
        Files.writeString(folder.resolve("letter.txt"), "dear");

        assertStoreIsRefused("is not one: the folder has other files in it; choose another by --store");
    }

    @Test
    void aFolderOfAnotherCommandIsNamed() {
        ServerCommand command = new ServerCommand(List.of("/opt/bin/files", "--token", "a secret"));
        StoreChoice choice = new StoreChoice.RocksDb(folder, Durability.PROCESS_DEATH, false);
        choice.open(new ServerChoice.Command(command).identity()).close();

        assertStoreIsRefused("keeps the sessions of files, and this is the demo; choose another by --store,"
                + " or take it over by --take-over-store");
        ServerCommand other = new ServerCommand(List.of("/opt/bin/files", "--token", "another"));
        assertThatThrownBy(() -> choice.open(new ServerChoice.Command(other).identity()))
                .isInstanceOf(GatewayException.class)
                .hasMessageContaining("keeps the sessions of files with other arguments; ");
        choice.open(new ServerChoice.Command(command).identity()).close();
    }

    @Test
    void aFolderOfANewerVersionIsNamed() throws IOException {
        Files.writeString(folder.resolve("FORMAT"), "holdfast session store, format 7\n");

        assertStoreIsRefused("has format 7, and this version reads up to format 1; choose another by --store");
    }

    @Test
    void aFolderThatCannotBeWrittenIsNamed() throws IOException {
        Files.delete(folder);
        Files.writeString(folder, "a file");

        assertStoreIsRefused("cannot be opened for writing: " + folder + " is not a folder; choose another by --store");
    }

    private void assertStoreIsRefused(String why) {
        assertThat(run("serve", "--port", "0", "--store", "rocksdb:" + folder)).isEqualTo(1);
        assertThat(err).hasToString("holdfast: the session store in " + folder + " " + why + System.lineSeparator());
    }

    @Test
    void helpNamesEveryOptionAndItsDefault() {
        assertThat(run("serve", "--help")).isZero();
        assertThat(out.toString().replaceAll("\\s+", " "))
                .contains("holdfast serve [OPTIONS] [--upstream URL | --config FILE | -- COMMAND ARGS...]")
                .contains("--host=", "default: 127.0.0.1)", "--port=", "default: 8080)", "--path=", "default: /mcp)")
                .contains("--reconnect-grace=", "--idle-timeout=", "default: 30m)", "--heartbeat=", "default: 15s)")
                .contains(
                        "--retry=",
                        "default: 2s)",
                        "--max-connection-age=",
                        "default: 0)",
                        "--keep-alive=",
                        "default: 75s)",
                        "--base-url=",
                        "--start-timeout=")
                .contains("default: 30s)", "--drain-timeout=", "default: 20s)", "--log-level=", "default: info)")
                .contains("--access-log=", "by default sessions at --log-level info, calls at debug")
                .contains(
                        "--config=",
                        "--auth-token-file=",
                        "--oauth-issuer=",
                        "--oauth-audience=",
                        "--oauth-scope=",
                        "--insecure",
                        "--allowed-host=",
                        "--allowed-origin=")
                .contains("--max-sessions=", "default: 10000)", "--max-principal-sessions=", "default: 1000)")
                .contains(
                        "--upstream=",
                        "--forward-header=",
                        "--max-calls=",
                        "--max-children=",
                        "--max-request-size=",
                        "default: 4m)")
                .contains(
                        "--store=",
                        "default: rocksdb:./holdfast-data)",
                        "--store-sync",
                        "--take-over-store",
                        "--store-password-file=",
                        "--sentinel-password-file=",
                        "--redis-prefix=",
                        "default: holdfast:)",
                        "--node-name=",
                        "by default the name of the host",
                        "--lease=",
                        "default: 3s)",
                        "--park-after=",
                        "--exit-with-parent",
                        "default: 10m)");
    }

    @Test
    void helpIsACommandToo() {
        assertThat(run("help")).isZero();
        assertThat(out.toString())
                .contains("holdfast serve [OPTIONS] [--upstream URL | --config FILE | -- COMMAND ARGS...]");
        assertThat(run("help", "serve")).isZero();
        assertThat(out.toString()).contains("--reconnect-grace");
    }

    @Test
    void versionIsOneLine() {
        assertThat(run("--version")).isZero();
        assertThat(out.toString()).startsWith("holdfast ").hasLineCount(1);
    }

    @Test
    void whatStandsBehindTheDashesIsNotRead() {
        assertThat(run("serve", "--help", "--", "server", "--port", "x", "--")).isZero();
    }
}
