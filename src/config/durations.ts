import { z } from 'zod';
import { fail, partsOf } from './texts.ts';

const dayMs = 86_400_000;
const unitDays: Record<string, number> = { d: 1, y: 365.25 };

/** @returns milliseconds; undefined if the text is no duration such as 180d or 8y */
function durationMs(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,5})([dy])$/.exec(text) ?? [];
  return unit ? Number(count) * unitDays[unit]! * dayMs : undefined;
}

/** How long something is kept, in milliseconds; by default a year. */
export const keep = z
  .string()
  .default('365d')
  .transform((text, context) => {
    const ms = text === '0' ? 0 : durationMs(text);
    return ms ?? fail(context, 'must be a duration such as 365d or 3y, or 0');
  });

/** A number of days. */
export const days = (max: number) =>
  z.string().transform((text, context) => {
    const count = Number(/^(\d{1,5})d$/.exec(text)?.[1]);
    return count >= 1 && count <= max
      ? count
      : fail(context, `must be a number of days from 1d to ${max}d, such as 7d`);
  });

/** How long things are kept, in milliseconds by name: a family's, `quarantine` or `access_log`. */
export const retention = (families: readonly string[]) =>
  z
    .string()
    .default('quarantine=90d')
    .transform((text, context) => {
      const names = [...families, 'quarantine', 'access_log'];
      const kept: Record<string, number> = {};
      for (const part of partsOf(text)) {
        const [name = '', duration = ''] = part.split('=').map((side) => side.trim());
        const ms = durationMs(duration);
        if (!names.includes(name)) fail(context, `has no ${name || part}: it may name ${names.join(', ')}`);
        else if (!ms) fail(context, `must give ${name} a duration such as 180d or 8y`);
        else if (name === 'access_log' && ms < durationMs('1y')!)
          fail(context, 'must keep access_log for at least 1y');
        else kept[name] = ms;
      }
      return kept;
    });
