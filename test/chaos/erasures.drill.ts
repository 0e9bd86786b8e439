import { identify } from '../../src/intake/identity.ts';
import { consentFormCallback, paths, receiptCallback, reviewRequestCallback } from '../support/callbacks.ts';
import { spawnReceiver } from '../support/process.ts';
import { until } from '../support/until.ts';
import { type Deployment, startDeployment } from './deployment.ts';
import { drawBackends } from './drawn.ts';
import { newestVersions, versionsInTables } from './model.ts';
import { addWebhookReceiver } from './webhooks.ts';

let deployment: Deployment;
afterEach(() => deployment.stop());

const patients = Array.from({ length: 8 }, (_, index) => `26146775604420${index}`);
const erased = patients.slice(0, 3);

/** Callbacks of all families about a patient; each receipt and form belongs to one patient. */
function callbackOf(patient: number, sequence: number) {
  const id = patients[patient];
  const event_time = 1_700_000_000 + (sequence % 50);
  const thing = patient * 1_000 + (sequence % 20);
  if (sequence % 5 === 3)
    return consentFormCallback({ event_time, data: { id: `form ${thing}`, patientid: id } });
  if (sequence % 5 === 4)
    return reviewRequestCallback({ event_time, data: { patient_id: id, appointment_id: `${sequence}` } });
  return receiptCallback({ event_time, data: { receipt_id: thing, patient_oid: id, net_amount: sequence } });
}

const pathOf = (event: string) =>
  event.startsWith('receipt')
    ? paths.receipt
    : event.startsWith('mcert')
      ? paths.consent_form
      : paths.review_request;

/** Senders that send new callbacks and now and then an old one again, to either receiver, until they are stopped. */
function startSending({ urls }: Deployment, senders: number) {
  const sent = new Map<string, ReturnType<typeof callbackOf>>();
  const acknowledged = new Set<string>();
  const answers = new Map<string, number>();
  let next = 0;
  let running = true;
  const send = async (sender: number) => {
    while (running) {
      next += 1;
      const sequence = next % 7 === 0 ? Math.floor(next / 2) : next;
      const callback = callbackOf(sequence % patients.length, sequence);
      const body = JSON.stringify(callback);
      sent.set(identify(callback as never), callback);
      const url = urls[(sender + next) % urls.length]! + pathOf(callback.event);
      try {
        const response = await fetch(url, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body,
        });
        const { status, id } = (await response.json()) as { status: string; id: string };
        answers.set(status, (answers.get(status) ?? 0) + 1);
        if (response.status === 200) acknowledged.add(id);
      } catch {
        // A receiver that was killed.
      }
    }
  };
  const sending = Promise.all(Array.from({ length: senders }, (_, sender) => send(sender)));
  return {
    sent,
    acknowledged,
    answers,
    stop: async () => {
      running = false;
      await sending;
    },
  };
}

/** Every row of every table that names a patient, except in the schema `withheld`. */
async function tablesWith(patient: string): Promise<string[]> {
  const tables = await deployment.rows(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname in ('public', 'bullmq')`,
  );
  const found = [];
  for (const { name } of tables) {
    const rows = await deployment.rows(`select from ${name} t where t::text like '%${patient}%' limit 1`);
    if (rows.length > 0) found.push(String(name));
  }
  return found;
}

it.each(drawBackends('erasures'))(
  'on %s, erasures under load, with processes killed at any moment, are complete or have not begun, and nothing else is lost',
  async (backend) => {
    deployment = await startDeployment(backend, { each: 2 });
    const webhooks = await addWebhookReceiver(deployment);
    const { sent, acknowledged, answers, stop } = startSending(deployment, 6);
    const moreAcknowledged = (count: number) => {
      const enough = acknowledged.size + count;
      return until(() => acknowledged.size > enough);
    };
    const erase = (patient: string) =>
      spawnReceiver(['patient', 'erase', patient, '--yes'], { DATABASE_URL: deployment.databaseUrl });
    const certificates = async () =>
      (await deployment.rows(`select count(*)::int as n from erasures`))[0]!.n as number;
    try {
      await moreAcknowledged(200);
      for (const [index, patient] of erased.entries()) {
        const before = await certificates();
        const doomed = erase(patient);
        // Killed somewhere between its first statement and its end.
        await until(async () => {
          if (doomed.child.exitCode !== null || (await certificates()) > before) return true;
          const sessions = await deployment.rows(
            `select from pg_stat_activity where application_name = 'receiver command' and xact_start is not null`,
          );
          return sessions.length > 0;
        });
        await doomed.end('SIGKILL');
        const role = index % 2 === 0 ? 'receiver' : 'worker';
        await deployment.processOf(role, index >> 1).end('SIGKILL');
        const complete = erase(patient);
        expect([await complete.end(), complete.output()]).toEqual([
          0,
          expect.stringContaining('Certificate'),
        ]);
        webhooks.forbid(patient);
        await deployment.start(role, index >> 1);
        await moreAcknowledged(50);
      }
    } finally {
      await stop();
    }
    await until(async () => (await deployment.rows('select from pending_deliveries limit 1')).length === 0);

    for (const patient of erased) expect([patient, await tablesWith(patient)]).toEqual([patient, []]);
    expect(answers.get('erased')).toBeGreaterThan(0);
    // A certificate counts what is withheld, both or neither; the name in the access log is no delivery.
    expect(
      await deployment.rows(`
        select e.id from erasures e
        left join (select erasure_id, count(*) as n from withheld.records where source <> 'patient_pseudonyms' group by 1) w on w.erasure_id = e.id
        where (counts->>'withheld')::int + (counts->>'quarantine')::int <> coalesce(w.n, 0)`),
    ).toEqual([]);
    const isErased = (id: string) => erased.some((patient) => JSON.stringify(sent.get(id)).includes(patient));
    const stored = (await deployment.rows('select id from inbox')).map(({ id }) => id as string);
    expect([...acknowledged].filter((id) => !isErased(id) && !stored.includes(id))).toEqual([]);
    // A receiver that was killed has stored callbacks that it did not acknowledge.
    const kept = stored.map((id) => ({ envelope: sent.get(id) }) as never);
    const inTables = await deployment.rows(versionsInTables);
    expect(new Map(inTables.map(({ key, id }) => [key, id]))).toEqual(newestVersions(kept));
    expect(await webhooks.compare()).toEqual({ untold: 0, disordered: 0, late: 0 });
    await webhooks.stop();
  },
);
