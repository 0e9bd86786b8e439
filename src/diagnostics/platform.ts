import { openPlatform } from '../service/open-platform.ts';
import type { Check } from './finding.ts';

const mostApartMs = 60_000;
const dayMs = 24 * 60 * 60 * 1000;
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

/** What the reconciliation needs of the platform: credentials that may read appointments, and clocks that agree. */
export const checkPlatform: Check = async ({ env, config, redact }, report) => {
  if (!config.reconcile) return;
  const platform = openPlatform(env);
  try {
    const now = Date.now();
    const { answeredAt } = await platform.appointmentsPage(dayOf(now), dayOf(now + dayMs), 0);
    const { days } = config.reconcile;
    report('ok', 'platform', `appointments can be read; the reconciliation compares ${days} days back`);
    // A `Date` has whole seconds.
    const apartMs = answeredAt.getTime() - Date.now();
    if (Math.abs(apartMs) > mostApartMs) {
      const seconds = Math.round(Math.abs(apartMs) / 1000);
      const fix = 'Synchronize the clock of this machine (NTP): signatures and times of reports depend on it';
      report('warn', 'platform', `its clock is ${seconds} s ${apartMs > 0 ? 'ahead' : 'behind'}. ${fix}`);
    }
  } catch (error) {
    const fix = 'Check SERVICE_BASE_URL, the credentials, and their right to read appointments';
    report('fail', 'platform', `${redact((error as Error).message)}. ${fix}`);
  } finally {
    await platform.close();
  }
};
