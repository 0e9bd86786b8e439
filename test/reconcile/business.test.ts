import { findBusiness } from '../../src/reconcile/business.ts';
import { PlatformUnreadable } from '../../src/reconcile/platform.ts';
import { appointmentCallback } from '../support/callbacks.ts';
import { apply } from '../support/deliveries.ts';
import { listedAppointments } from '../support/listed-appointments.ts';
import { useReconciliation } from './use-reconciliation.ts';

const { database } = useReconciliation();

const find = (told: string | undefined | Error, given?: string) => {
  const business = async () => {
    if (told instanceof Error) throw told;
    return told;
  };
  return findBusiness(database.db, { ...listedAppointments().platform, business }, given);
};
const sent = (...businesses: string[]) =>
  apply(
    database,
    businesses.map((business_id) => appointmentCallback({ business_id })),
  );

it('the business is that of the directory, or the only one that has sent something', async () => {
  expect(await find('b1')).toBe('b1');
  await sent('b1');
  expect(await find(undefined)).toBe('b1');
  expect(await find(new PlatformUnreadable('no right'))).toBe('b1');
  await sent('b2');
  expect(await find('b2')).toBe('b2');
  await expect(find(undefined)).rejects.toThrow('--business');
});

it('a business that has sent nothing, where others have, has to be named', async () => {
  await sent('b1');
  await expect(find('b9')).rejects.toThrow('b9, which has sent nothing');
  expect(await find('b9', 'b9')).toBe('b9');
  await expect(find('b1', 'b9')).rejects.toThrow('the credentials are those of the business b1');
});

it('nothing is guessed where the platform fails for another reason', async () => {
  await sent('b1');
  await expect(find(new Error('stopped'))).rejects.toThrow('stopped');
});
