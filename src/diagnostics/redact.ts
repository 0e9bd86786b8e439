import type { Environment } from '../config/config.ts';
import { decode } from '../config/texts.ts';

const secretName = /KEY|TOKEN|SECRET|PASS|HEADERS|WEBHOOK|_PATH$/;
// A shorter text is part of too many words.
const minLength = 4;

/** Removes the secrets of an environment from a text: keys, tokens, paths, and the passwords of URLs. */
export function redactor(env: Environment): (text: string) => string {
  const secrets = Object.entries(env)
    .flatMap(([name, value = '']) => [
      ...(secretName.test(name) ? value.split(/[,\s]+/) : []),
      ...Array.from(value.matchAll(/:\/\/[^/]*?:(.*)@|[?&]\w*password=([^&]*)/gs), ([, inUrl, inQuery]) =>
        [inUrl ?? inQuery!].flatMap((text) => [text, decode(text), encodeURIComponent(decode(text))]),
      ).flat(),
    ])
    .filter((secret) => secret.length >= minLength)
    .toSorted((a, b) => b.length - a.length);
  return (text) => secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}
