import type { Config } from '../config/config.ts';

/**
 * A test callback as a line for a shell; the signature needs a key in SIGNING_KEY. Its event is one that no family lists, so
 * that no report of receipts or forms has it; its client and business are allowed ones.
 */
export function testCommand({ authentication }: Pick<Config, 'authentication'>, url: string): string {
  const { signingKeys, signatureHeader, allowedClientIds, allowedBusinessIds } = authentication;
  const now = Date.now();
  const seconds = Math.floor(now / 1000);
  const body = JSON.stringify({
    event: 'receiver.test',
    event_time: seconds,
    timestamp: seconds,
    client_id: allowedClientIds[0] ?? 'test',
    business_id: allowedBusinessIds[0] ?? 'test',
    data: { sent_at: now },
  });
  const hmac = `$(printf %s "$t.$body" | openssl dgst -sha256 -hmac "$SIGNING_KEY" -r | cut -d' ' -f1)`;
  const [time, signature] =
    signingKeys.length > 0
      ? ['t=$(date +%s)\n', `  -H "${signatureHeader}: t=$t,v1=${hmac}" \\\n`]
      : ['', ''];
  return `body='${body}'\n${time}curl '${url}' -H 'Content-Type: application/json' \\\n${signature}  -d "$body"`;
}
