import { useReceiverDatabase } from '../../support/receiver-database.ts';

const database = useReceiverDatabase();

it('a callback is found by each of its subjects, however many it has, and by no other', async () => {
  await database.rows(`
    insert into receiver.inbox (id, family, event, client_id, business_id, record_id, version, event_time, subjects, envelope, received_at)
    select gen_random_uuid(), 'receipt', 'receipt.created', '', '', n::text, '', now(),
           array(select format('p:platform:%s', (n * s) % 97) from generate_series(1, n % 21) s), '{}', now()
    from generate_series(0, 399) n`);
  const differing = await database.rows(`
    select wanted from (
      select array[format('p:platform:%s', n)] as wanted from generate_series(0, 99) n
      union all select array(select format('p:platform:%s', n % s) from generate_series(1, 5) s) from generate_series(0, 99) n
      union all select '{}'
    ) w where (select array_agg(id order by id) from receiver.callbacks_with(wanted))
      is distinct from (select array_agg(id order by id) from receiver.inbox where subjects && wanted)`);
  expect(differing).toEqual([]);
});
