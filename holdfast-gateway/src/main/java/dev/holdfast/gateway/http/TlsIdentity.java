package dev.holdfast.gateway.http;

import dev.holdfast.gateway.text.OptionFile;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.NoSuchAlgorithmException;
import java.security.PrivateKey;
import java.security.ProviderException;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.InvalidKeySpecException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What a server of TLS proves itself with, of two files in PEM.
 *
 * @param certificate its own
 * @param store that with those of its issuers, and its private key
 */
record TlsIdentity(X509Certificate certificate, KeyStore store) {
    /** Of a key store that is in memory only. */
    static final String PASSWORD = "in memory";

    private static final Pattern BLOCK =
            Pattern.compile("-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \\1-----", Pattern.DOTALL);
    private static final Pattern BEGINNING = Pattern.compile("-----BEGIN ");
    private static final String CERTIFICATE = "CERTIFICATE";
    private static final String PRIVATE_KEY = "PRIVATE KEY";
    /** By the algorithms of keys, those that sign with them. */
    private static final Map<String, String> SIGNATURES =
            Map.of("RSA", "SHA256withRSA", "EC", "SHA256withECDSA", "EdDSA", "EdDSA");

    private static final int SEQUENCE = 0x30;
    private static final int OCTET_STRING = 4;
    private static final byte[] VERSION = {2, 1, 0};

    private record Block(String type, String text) {
        byte[] bytes(OptionFile file) {
            try {
                return Base64.getMimeDecoder().decode(text);
            } catch (IllegalArgumentException e) {
                throw file.fault("the " + type + " in it is damaged (" + e.getMessage() + ")");
            }
        }
    }

    /**
     * Reads both files.
     *
     * @throws dev.holdfast.gateway.text.GatewayException says which of them is wrong, and what to do
     */
    static TlsIdentity of(OptionFile certificates, byte[] chain, OptionFile keys, byte[] key) {
        List<X509Certificate> read = chain(certificates, chain);
        PrivateKey secret = key(keys, key, read.get(0));
        requireSame(read, secret, certificates, keys);
        requireChain(read, certificates);
        try {
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            store.setKeyEntry("server", secret, PASSWORD.toCharArray(), read.toArray(X509Certificate[]::new));
            return new TlsIdentity(read.get(0), store);
        } catch (GeneralSecurityException | IOException e) {
            throw certificates.fault("its certificates cannot be used together (" + e.getMessage() + ")");
        }
    }

    private static List<Block> blocks(OptionFile file, byte[] content) {
        String text = new String(content, StandardCharsets.ISO_8859_1);
        List<Block> blocks = new ArrayList<>();
        Matcher matcher = BLOCK.matcher(text);
        while (matcher.find()) {
            blocks.add(new Block(matcher.group(1), matcher.group(2)));
        }
        if (BEGINNING.matcher(text).results().count() > blocks.size()) {
            throw file.fault("a part of it has no end; is it whole?");
        }
        return blocks;
    }

    private static List<X509Certificate> chain(OptionFile file, byte[] content) {
        List<X509Certificate> chain = new ArrayList<>();
        for (Block block : blocks(file, content)) {
            if (block.type.equals(CERTIFICATE)) {
                try {
                    chain.add((X509Certificate) CertificateFactory.getInstance("X.509")
                            .generateCertificate(new ByteArrayInputStream(block.bytes(file))));
                } catch (CertificateException e) {
                    throw file.fault(
                            "certificate " + (chain.size() + 1) + " in it is damaged (" + e.getMessage() + ")");
                }
            }
        }
        if (chain.isEmpty()) {
            throw file.fault("has no certificate in PEM, which begins with -----BEGIN CERTIFICATE-----");
        }
        return List.copyOf(chain);
    }

    /** Each certificate is issued by the next one. */
    private static void requireChain(List<X509Certificate> chain, OptionFile file) {
        for (int i = 1; i < chain.size(); i++) {
            try {
                chain.get(i - 1).verify(chain.get(i).getPublicKey());
            } catch (GeneralSecurityException e) {
                throw file.fault("certificate " + (i + 1) + " in it has not issued certificate " + i
                        + "; begin with the server's own, then that of its issuer, and so on");
            }
        }
    }

    private static PrivateKey key(OptionFile file, byte[] content, X509Certificate owner) {
        Block block = blocks(file, content).stream()
                .filter(each -> each.type.endsWith(PRIVATE_KEY))
                .findFirst()
                .orElseThrow(
                        () -> file.fault("has no private key in PEM, which begins with -----BEGIN PRIVATE KEY-----"));
        if (block.type.startsWith("ENCRYPTED") || block.text.contains("ENCRYPTED")) {
            throw file.fault(
                    "the key in it is encrypted; take its passphrase away (openssl pkey -in FILE -out NEW), and"
                            + " let only the gateway's user read it");
        }
        byte[] bytes = block.bytes(file);
        PKCS8EncodedKeySpec spec =
                new PKCS8EncodedKeySpec(block.type.equals(PRIVATE_KEY) ? bytes : wrapped(bytes, owner.getPublicKey()));
        return SIGNATURES.keySet().stream()
                .flatMap(algorithm -> key(algorithm, spec))
                .findFirst()
                .orElseThrow(
                        () -> file.fault(
                                "the " + block.type
                                        + " in it cannot be read, or does not belong to the certificate; it must be RSA, EC or Ed25519"));
    }

    private static Stream<PrivateKey> key(String algorithm, PKCS8EncodedKeySpec spec) {
        try {
            return Stream.of(KeyFactory.getInstance(algorithm).generatePrivate(spec));
        } catch (InvalidKeySpecException e) {
            return Stream.empty();
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JDK has " + algorithm, e);
        }
    }

    /** A key in the form of its own algorithm (PKCS#1, SEC 1) as PKCS#8, which Java reads: with what its certificate says of both. */
    private static byte[] wrapped(byte[] key, PublicKey owner) {
        ByteBuffer subject = ByteBuffer.wrap(owner.getEncoded());
        int unused = content(subject);
        int begin = subject.position();
        int end = content(subject) + subject.position();
        byte[] algorithm = Arrays.copyOfRange(subject.array(), begin, end);
        return element(SEQUENCE, VERSION, algorithm, element(OCTET_STRING, key));
    }

    /** Goes to the content of an element of DER, and returns its length. */
    private static int content(ByteBuffer der) {
        der.get();
        int length = Byte.toUnsignedInt(der.get());
        if (length < 0x80) {
            return length;
        }
        int bytes = length & 0x7f;
        length = 0;
        for (int i = 0; i < bytes; i++) {
            length = (length << 8) | Byte.toUnsignedInt(der.get());
        }
        return length;
    }

    private static byte[] element(int tag, byte[]... parts) {
        int length = Arrays.stream(parts).mapToInt(part -> part.length).sum();
        ByteArrayOutputStream der = new ByteArrayOutputStream();
        der.write(tag);
        int bytes = (Integer.SIZE - Integer.numberOfLeadingZeros(length) + 7) / 8;
        if (length >= 0x80) {
            der.write(0x80 | bytes);
        }
        for (int i = bytes - 1; i >= 0; i--) {
            der.write(length >> (8 * i));
        }
        Arrays.stream(parts).forEach(der::writeBytes);
        return der.toByteArray();
    }

    private static void requireSame(
            List<X509Certificate> chain, PrivateKey key, OptionFile certificates, OptionFile keys) {
        List<X509Certificate> owners =
                chain.stream().filter(each -> belongs(key, each.getPublicKey())).toList();
        if (owners.isEmpty()) {
            throw keys.fault("the key in it does not belong to the certificate of " + certificates);
        }
        if (!owners.get(0).equals(chain.get(0))) {
            throw certificates.fault("the certificate of the key is not the first in it; begin with that one");
        }
    }

    private static boolean belongs(PrivateKey key, PublicKey owner) {
        byte[] text = {1, 2, 3};
        try {
            Signature signature = Signature.getInstance(SIGNATURES.getOrDefault(key.getAlgorithm(), ""));
            signature.initSign(key);
            signature.update(text);
            byte[] signed = signature.sign();
            signature.initVerify(owner);
            signature.update(text);
            return signature.verify(signed);
        } catch (GeneralSecurityException | ArithmeticException | ProviderException e) {
            return false;
        }
    }
}
