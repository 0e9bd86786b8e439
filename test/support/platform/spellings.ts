import type { Kind } from './documented.ts';
import type { Meaning, Random, Value } from './meanings.ts';

/** As the interface documents callbacks, and as real ones differ from it. */
export type Spelling = 'documented' | 'seen';

/** The body of a callback. Its other spelling is another delivery with the same meaning. */
export function spell(meaning: Meaning, spelling: Spelling, random: Random): Record<string, unknown> {
  const isSeen = spelling === 'seen';
  const { of, values, odd, lacks, extra, transaction } = meaning;
  const fields = Object.entries(of.fields).flatMap(([name, kind]): [string, unknown][] => {
    const value = values[name]!;
    if (kind === 'admission' || lacks.has(name)) return [];
    if (name in odd) return [[name, odd[name]]];
    if (value === null) return isSeen ? [] : [[name, null]];
    const key = isSeen && name === 'prescription_id' && of.key === name ? 'rx_id' : name;
    return [[key, spelledValue(kind, value, isSeen, random)]];
  });
  return {
    ...envelope(meaning, isSeen, random),
    event_time: isSeen ? timeText(meaning.eventTime, random) : timeNumber(meaning.eventTime, random),
    ...(transaction && { transaction_id: transaction }),
    data: { ...Object.fromEntries(fields), ...extra },
  };
}

/** The same delivery once more: nothing that identifies it differs. */
export function spellAgain(body: Record<string, unknown>, meaning: Meaning, random: Random) {
  const { event: _, event_type: __, timestamp: ___, client_id: ____, business_id: _____, ...rest } = body;
  return { ...rest, ...envelope(meaning, random.chance(50), random) };
}

function envelope({ event, client, business }: Meaning, isSeen: boolean, random: Random): object {
  const { pick } = random;
  if (!isSeen) return { event, timestamp: 1_760_000_000, client_id: client, business_id: business };
  const optional = (name: string, id: string) =>
    id ? { [name]: id } : pick([{ [name]: '' }, { [name]: null }, {}]);
  return {
    event_type: event,
    ...optional('client_id', client),
    ...optional('business_id', business),
    ...pick([{}, { timestamp: 0 }, { timestamp: null }, { timestamp: '2026-06-30T07:25:18Z' }]),
    ...pick([{}, { service: 'emr', partition_id: business }]),
  };
}

function spelledValue(kind: Kind, value: Value, isSeen: boolean, random: Random): unknown {
  if (kind === 'time' || kind === 'other time')
    return isSeen ? timeText(value as number, random) : timeNumber(value as number, random);
  return kind === 'number id' && isSeen ? String(value) : value;
}

function timeNumber(ms: number, { pick }: Random): number {
  return ms % 1000 === 0 ? pick([ms, ms / 1000]) : ms;
}

function timeText(ms: number, { pick }: Random): string {
  const iso = new Date(ms).toISOString();
  const ahead = new Date(ms + 5.5 * 3_600_000).toISOString();
  return pick([
    iso,
    ms % 1000 === 0 ? iso.replace('.000Z', 'Z') : iso,
    `${iso.slice(0, 23).replace('T', ' ')}000+00:00`,
    `${ahead.slice(0, 23)}+05:30`,
  ]);
}
