import type { CallOptions } from './call.ts';
import { UnreadableResponse } from './errors.ts';
import type { operations, ResponseOf } from './operations.ts';
import type { PatientProfile } from './reading-schemas.ts';

export interface PatientsQuery {
  /** Created after; its format is not documented. */
  readonly from?: string | number;
}

type List = (typeof operations)['listPatients'];
type Request = PatientsQuery & { readonly pageNo: number };

/** All patients, page by page. Raises UnreadableResponse if the platform names a page that was read already. */
export async function* readPatients(
  list: (request: Request, options?: CallOptions) => Promise<ResponseOf<List>>,
  query: PatientsQuery,
  options?: CallOptions,
): AsyncGenerator<PatientProfile, void> {
  for (let pageNo = 0; pageNo >= 0; ) {
    const { profiles, nextPage } = await list({ ...query, pageNo }, options);
    yield* profiles;
    if (nextPage >= 0 && nextPage <= pageNo) {
      throw new UnreadableResponse(`page ${pageNo} names page ${nextPage} as the next`, {
        operation: 'listPatients',
      });
    }
    pageNo = nextPage;
  }
}
