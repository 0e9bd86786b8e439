-- Visits: a reschedule makes a new appointment, so a visit is a chain of them. Links come in any order, one-sided, to appointments
-- that never arrived, in forks and in circles: whatever is connected is one visit.

create or replace view linked_appointments as
select business_id, earlier_id as appointment_id from appointment_links
union all
select business_id, later_id from appointment_links;

-- Two queries, because nine in ten appointments have no link: these are told by one lookup each, and only chains are followed.
-- A chain belongs to the day of its first link, whose row finds the others. PostgreSQL leaves out what is not selected.
create or replace view reporting.visits as
select
  v.business_id, v.visit_id, v.day, v.first_appointment_id, v.first_booked_at, v.reschedules, v.booked_at, v.completed_at,
  v.modified_at, v.status, v.state, v.clinic_id, v.doctor_id, v.patient_id, v.client_id, paid.receipts, paid.net_amount,
  paid.paid_amount, paid.due_amount, v.starts_at
from (
  select
    a.business_id, a.appointment_id as visit_id, a.day, a.appointment_id as first_appointment_id,
    a.booked_at as first_booked_at, 0 as reschedules, a.booked_at, a.completed_at, a.modified_at, a.status, a.state,
    a.clinic_id, a.doctor_id, a.patient_id, a.client_id, array[a.appointment_id] as appointment_ids,
    a.starts_at
  from reporting.appointments a
  where not exists (
    select from linked_appointments l where l.business_id = a.business_id and l.appointment_id = a.appointment_id
  )
  union all
  select
    a.business_id, last.appointment_id, a.day, a.appointment_id, a.booked_at, visit.reschedules, last.booked_at,
    last.completed_at, last.modified_at, last.status, last.state, last.clinic_id, last.doctor_id, last.patient_id,
    last.client_id, visit.appointment_ids, last.starts_at
  from reporting.appointments a
  cross join lateral (
    -- A chain of more is a mistake of whoever links: each of its appointments is a visit.
    select
      case when chain.links <= 100 then chain.first_id else a.appointment_id end as first_id,
      case when chain.links <= 100 then chain.last_id else a.appointment_id end as last_id,
      case when chain.links <= 100 then chain.links - 1 else 0 end as reschedules,
      case when chain.links <= 100 then chain.appointment_ids else array[a.appointment_id] end as appointment_ids
    from (
      select
        count(*)::integer as links, array_agg(id) as appointment_ids,
        (array_agg(id order by earlier nulls first, booked_at, id collate "C") filter (where booked_at is not null))[1]
          as first_id,
        (array_agg(id order by later nulls first, booked_at desc, id collate "C" desc) filter (where booked_at is not null))[1]
          as last_id
      from (
        with recursive linked (id) as (
          select a.appointment_id
          union
          select beside.id
          from linked
          cross join lateral (
            select later_id as id from appointment_links l where l.business_id = a.business_id and l.earlier_id = linked.id
            union all
            select earlier_id from appointment_links l where l.business_id = a.business_id and l.later_id = linked.id
          ) beside
        )
        -- Looked up for each: a join may read all appointments of the business.
        select
          id,
          (select k.booked_at from reporting.appointments k where k.business_id = a.business_id and k.appointment_id = id) as booked_at,
          (select 1 from appointment_links l where l.business_id = a.business_id and l.later_id = id limit 1) as earlier,
          (select 1 from appointment_links l where l.business_id = a.business_id and l.earlier_id = id limit 1) as later
        from linked
        limit 101
      ) members
    ) chain
  ) visit
  join reporting.appointments last on last.business_id = a.business_id and last.appointment_id = visit.last_id
  -- "limit": looked up for the appointments that are asked for, and not the other way round.
  where visit.first_id = a.appointment_id and (
    select true from linked_appointments l where l.business_id = a.business_id and l.appointment_id = a.appointment_id limit 1
  )
) v
left join lateral (
  select
    count(*) as receipts, coalesce(sum(r.net_amount), 0) as net_amount, coalesce(sum(r.paid_amount), 0) as paid_amount,
    coalesce(sum(r.due_amount), 0) as due_amount
  from unnest(v.appointment_ids) as link (appointment_id)
  join reporting.receipts r on r.business_id = v.business_id and r.aid = link.appointment_id and r.aid <> ''
) paid on true;

comment on view reporting.visits is 'Each visit: an appointment, with those that it replaces by rescheduling. State, times, clinic, doctor and patient are those of the last one';

select copy_column_comments('reporting.appointments', 'reporting.visits');

comment on column reporting.visits.visit_id             is 'The appointment that takes place, or was to: the last of the chain of reschedules';
comment on column reporting.visits.day                  is 'The day on which the first appointment of the chain was booked';
comment on column reporting.visits.first_appointment_id is 'The first appointment of the chain that is known';
comment on column reporting.visits.first_booked_at      is 'When the first appointment was booked';
comment on column reporting.visits.reschedules          is 'How often it was rescheduled, also from and to appointments that did not arrive; a chain of more than 100 is not followed';
comment on column reporting.visits.booked_at            is 'When the last appointment was booked';
comment on column reporting.visits.status               is 'The status of the last appointment, such as CM';
comment on column reporting.visits.receipts             is 'Number of receipts of any of the appointments, without deleted ones';
comment on column reporting.visits.net_amount           is 'Amount to pay of these receipts after discounts';
comment on column reporting.visits.paid_amount          is 'Amount paid so far of these receipts';
comment on column reporting.visits.due_amount           is 'Amount due of these receipts';
