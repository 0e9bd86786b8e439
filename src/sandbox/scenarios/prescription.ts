import { aboutVisit, hexId, partiesOf, partnerId, partnerPartiesOf, pdfUrl, type Visit } from '../clinic.ts';
import type { Random } from '../random.ts';
import { inSeconds, type Scenario, type ScenarioEvent, sometimes } from './scenario.ts';

/** The prescription of a visit: created, sometimes updated, often sent to the patient. */
export function* prescriptionScenario(random: Random, visit: Visit, writtenAt: number): Scenario {
  const prescriptionId = hexId(random);
  let url = '';
  let version = 0;
  let modifiedAt = 0;

  const next = (action: 'created' | 'updated', now: number): ScenarioEvent => {
    // Versions within a second would have no order.
    modifiedAt = Math.max(inSeconds(now), modifiedAt + 1);
    url = pdfUrl(random, 'prescriptions');
    version += 1;
    return {
      event: `prescription.${action}`,
      data: {
        prescription_id: prescriptionId,
        ...partiesOf(visit),
        ...sometimes(random, {
          ...partnerPartiesOf(visit),
          partner_appointment_id: partnerId(visit.appointmentId),
          current_version: `v${version}`,
          ...(version > 1 && { previous_version: `v${version - 1}` }),
          prescription_url: url,
          prescription_url_print: pdfUrl(random, 'prescriptions/print'),
          partner_meta: { source: random.pick(['app', 'desk']) },
        }),
        action,
        created_at: inSeconds(writtenAt),
        modified_at: modifiedAt,
      },
    };
  };
  let now = yield next('created', writtenAt);
  while (random.chance(0.4)) now = yield next('updated', now);
  if (random.chance(0.6)) yield communication(random, visit, prescriptionId, url);
}

function communication(random: Random, visit: Visit, prescriptionId: string, url: string): ScenarioEvent {
  const { doctor, patient } = visit;
  const [first_name, last_name = ''] = patient.name.split(' ');
  return {
    event: 'prescription.communication',
    data: {
      ...aboutVisit(visit),
      prescription_id: prescriptionId,
      prescription_url: url,
      ...sometimes(random, {
        actor_oid: doctor,
        doc_name: { salutation: 'Dr', first_name: 'Meera', last_name: 'Sample' },
        patient_name: { salutation: random.pick(['Mr', 'Ms']), first_name, last_name },
      }),
    },
  };
}
