import { parseSettings } from '../client/commands/settings.ts';
import { type Appointment, createServiceClient, ServiceError } from '../client/index.ts';
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
    listSubscriptions: client.listSubscriptions,
    directory: client.directory,
  };
}

const options = (signal: AbortSignal | undefined) => (signal ? { signal } : {});

/** Every field, also those that the interface does not name; ids as text. */
const asRead = ({ raw, ...fields }: Appointment) => ({ ...raw, ...fields });
