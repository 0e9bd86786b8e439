import { parseSettings } from '../client/commands/settings.ts';
import {
  type Appointment,
  createServiceClient,
  RefusedInput,
  Rejected,
  ServiceError,
} from '../client/index.ts';
import type { DailyClient } from '../reconcile/daily.ts';
import { type Platform, PlatformUnreadable } from '../reconcile/platform.ts';

/**
 * The platform as the reconciliation and the daily comparison read it, by the client. It connects with the first call.
 *
 * @param env the variables SERVICE_*
 * @throws MissingSettings with what to set
 */
export function openPlatform(env: Record<string, string | undefined>): Platform & DailyClient {
  const client = createServiceClient(parseSettings(env));
  const read = async <T>(answer: Promise<T>, signal?: AbortSignal): Promise<T> => {
    try {
      return await answer;
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof ServiceError)) throw error;
      // Without the body of the answer, which a log would show.
      throw new PlatformUnreadable(`The platform could not be read: ${error.message}`);
    }
  };
  const ifKnown = <T>(answer: Promise<T>, signal?: AbortSignal): Promise<T | undefined> => {
    const found = answer.catch((error: unknown) => {
      if (isUnknown(error)) return undefined;
      throw error;
    });
    return read(found, signal);
  };
  return {
    business: async (signal) => {
      const { data } = await read(client.directory(options(signal)), signal);
      return data.business?.business_id;
    },
    appointmentsPage: async (startDate, endDate, pageNo, signal) => {
      const page = client.appointmentsPage({ startDate, endDate, pageNo }, options(signal));
      const { appointments, ...rest } = await read(page, signal);
      return { appointments: appointments.map(asRead), ...rest };
    },
    appointment: async (id, signal) => {
      const found = await ifKnown(client.appointment({ id }, options(signal)), signal);
      return found && { appointment: asRead(found), answeredAt: found.answeredAt };
    },
    listSubscriptions: client.listSubscriptions,
    directory: client.directory,
    close: client.close,
  };
}

/** Nothing has an id that the platform refuses, or that cannot be part of an address. */
const isUnknown = (error: unknown) =>
  error instanceof RefusedInput || (error instanceof Rejected && [400, 404].includes(error.status ?? 0));

const options = (signal: AbortSignal | undefined) => (signal ? { signal } : {});

/** Every field, also those that the interface does not name; ids as text. */
function asRead({ raw, ...known }: Appointment & { answeredAt?: Date }) {
  const { answeredAt: _, ...fields } = known;
  return { ...raw, ...fields };
}
