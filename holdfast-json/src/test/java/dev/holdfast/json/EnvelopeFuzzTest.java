package dev.holdfast.json;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.json.EnvelopeReader.Malformed;
import dev.holdfast.json.EnvelopeReader.Parsed;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Traffic that was damaged at random, each body from a seed of its own: a failure names the seed and the body. */
class EnvelopeFuzzTest {
    private static final int BODIES = Integer.getInteger("holdfast.bodies", 20_000);

    private static final List<String> TRAFFIC = List.of(
            "{'jsonrpc':'2.0','id':0,'method':'initialize','params':{'protocolVersion':'2025-06-18','capabilities':{},"
                    + "'clientInfo':{'name':'é日😀','version':'1'}}}",
            "{'jsonrpc':'2.0','id':0,'result':{'protocolVersion':'2025-06-18','capabilities':{'logging':{}}}}",
            "{'method':'tools/call','params':{'name':'slow','arguments':{'ms':1.5e3,'t':[true,false,null,-1]},"
                    + "'_meta':{'progressToken':'\\u0074\\ud83d\\ude00'}},'jsonrpc':'2.0','id':'a\\n\\\"'}",
            "{'jsonrpc':'2.0','method':'notifications/progress','params':{'progressToken':3,'progress':0.5}}",
            "{'jsonrpc':'2.0','method':'notifications/cancelled','params':{'requestId':'x','reason':'日本'}}",
            "{'jsonrpc':'2.0','id':-0,'method':'resources/subscribe','params':{'uri':'test:\\/\\/a'}}",
            "{'jsonrpc':'2.0','id':7,'error':{'code':-32601,'message':'no'}}",
            "{'jsonrpc':'2.0','id':null,'error':{'code':-32700,'message':'no','data':{'at':[1,2]}}}",
            "[{'jsonrpc':'2.0','id':1,'method':'ping'},\n {'jsonrpc':'2.0','method':'notifications/x'}]",
            " {'jsonrpc':'2.0','id':1,'method':'server/discover','params':{'_meta':"
                    + "{'io.modelcontextprotocol/protocolVersion':'2026-07-28','progressToken':1}}}\r\n");

    private static final List<String> FRAGMENTS = List.of(
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "'",
            "\\",
            " ",
            "\n",
            "null",
            "true",
            "{}",
            "[]",
            "-",
            "0",
            "1",
            "1.0",
            "1e5",
            "'id':1,",
            "'id':null,",
            "'\\u0069d':2,",
            "'result':null,",
            "'result':{},",
            "'error':null,",
            "'error':{},",
            "'params':{},",
            "'method':'x',",
            "'jsonrpc':'2.0',",
            "'_meta':{'progressToken':2},",
            "'progressToken':'p',",
            "'uri':'u',",
            "'requestId':5,",
            "'protocolVersion':'v',",
            "'\\ud800'",
            "'\\ud83d\\ude00'",
            "é",
            "日",
            "😀",
            "\uFEFF",
            "\u0000",
            "'x':'x',",
            "[[[[",
            "]]]]",
            "1".repeat(65));

    private final EnvelopeAgreement agreement = new EnvelopeAgreement();

    @Test
    void undamagedTrafficIsReadAsTheReferenceReadsIt() {
        for (String body : TRAFFIC) {
            assertThat(agreement.on(utf8(body))).isNotInstanceOf(Malformed.class);
        }
    }

    @Test
    void damagedTrafficIsReadAsTheReferenceReadsItAndNeverThrows() {
        int accepted = 0;
        for (int seed = 0; seed < BODIES; seed++) {
            byte[] body = damaged(new Random(seed));
            try {
                Parsed parsed = agreement.on(body);
                accepted += parsed instanceof Malformed ? 0 : 1;
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError(
                        "seed " + seed + ", body " + HexFormat.of().formatHex(body) + " = " + new String(body, UTF_8),
                        e);
            }
        }
        assertThat(accepted).isBetween(BODIES / 10, BODIES * 9 / 10);
    }

    /** A body that was damaged up to four times, often in a way that leaves it JSON. */
    private static byte[] damaged(Random random) {
        byte[] body = utf8(TRAFFIC.get(random.nextInt(TRAFFIC.size())));
        for (int damages = random.nextInt(5); damages > 0; damages--) {
            body = damage(body, random);
        }
        return body;
    }

    private static byte[] damage(byte[] body, Random random) {
        String latin = new String(body, ISO_8859_1);
        int at = random.nextInt(body.length + 1);
        int to = at + random.nextInt(Math.min(body.length - at, 12) + 1);
        String fragment = latin(FRAGMENTS.get(random.nextInt(FRAGMENTS.size())));
        return switch (random.nextInt(10)) {
            case 0 -> flipped(body, random);
            case 1 -> latin.substring(0, at).getBytes(ISO_8859_1);
            case 2 -> (latin.substring(0, at) + latin.substring(to)).getBytes(ISO_8859_1);
            case 3 -> (latin.substring(0, at) + fragment + latin.substring(at)).getBytes(ISO_8859_1);
            case 4 -> (latin.substring(0, at) + fragment + latin.substring(to)).getBytes(ISO_8859_1);
            case 5 -> (latin.substring(0, to) + latin.substring(at)).getBytes(ISO_8859_1);
            case 6 -> nested(latin, random).getBytes(ISO_8859_1);
            default -> insideAnObject(latin, fragment, random).getBytes(ISO_8859_1);
        };
    }

    private static byte[] flipped(byte[] body, Random random) {
        byte[] flipped = body.clone();
        if (flipped.length > 0) {
            flipped[random.nextInt(flipped.length)] ^= (byte) (1 << random.nextInt(8));
        }
        return flipped;
    }

    /** Wraps the body, or one of its values, in up to 210 arrays or objects. */
    private static String nested(String body, Random random) {
        int levels = random.nextInt(10) == 0 ? 190 + random.nextInt(20) : 1 + random.nextInt(2);
        String open = random.nextBoolean() ? "[" : "{\"x\":";
        String close = open.equals("[") ? "]" : "}";
        int at = random.nextInt(4) == 0 ? 0 : Math.max(0, body.lastIndexOf(":{}"));
        String inner = at == 0 ? body : body.substring(at + 1, at + 3);
        String before = at == 0 ? "" : body.substring(0, at + 1);
        String after = at == 0 ? "" : body.substring(at + 3);
        return before + open.repeat(levels) + inner + close.repeat(levels) + after;
    }

    /** Puts the fragment behind one of the braces that open an object, where a member may stand. */
    private static String insideAnObject(String body, String fragment, Random random) {
        int[] braces = IntStream.range(0, body.length())
                .filter(i -> body.charAt(i) == '{')
                .toArray();
        int at = braces.length == 0 ? 0 : braces[random.nextInt(braces.length)] + 1;
        return body.substring(0, at) + fragment + body.substring(at);
    }

    private static byte[] utf8(String text) {
        return text.replace('\'', '"').getBytes(UTF_8);
    }

    private static String latin(String text) {
        return new String(utf8(text), ISO_8859_1);
    }
}
