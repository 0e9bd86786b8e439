-- Most callbacks have one subject or two. Btrees of their hashes take 150 bytes of WAL of an insert, a GIN index takes 550.
drop index receiver.inbox_subjects;
create index inbox_subject on receiver.inbox (hashtextextended(subjects[1], 0));
create index inbox_second_subject on receiver.inbox (hashtextextended(subjects[2], 0));
create index inbox_subjects on receiver.inbox using gin (subjects) with (fastupdate = off) where cardinality(subjects) > 2;

create function receiver.callbacks_with(wanted text[]) returns setof receiver.inbox language sql stable parallel safe as $$
  select * from receiver.inbox
  where subjects && wanted and (
    hashtextextended(subjects[1], 0) = any(array(select hashtextextended(s, 0) from unnest(wanted) s))
    or hashtextextended(subjects[2], 0) = any(array(select hashtextextended(s, 0) from unnest(wanted) s))
    or cardinality(subjects) > 2 and subjects && wanted
  )
$$;
comment on function receiver.callbacks_with is 'The callbacks that have one of these subjects, by index';

-- Only the daily trimming read it, which reads all changes in any case.
drop index receiver.changes_record;
