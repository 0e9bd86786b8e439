create or replace function copy_column_comments(source regclass, variadic targets regclass[]) returns void
  language plpgsql
as $$
declare
  same record;
begin
  for same in
    select t.attrelid::regclass as view, attname as name, col_description(source, s.attnum) as comment
    from pg_attribute t
    join pg_attribute s using (attname)
    where t.attrelid = any(targets) and s.attrelid = source and t.attnum > 0
  loop
    execute format('comment on column %s.%I is %L', same.view, same.name, same.comment);
  end loop;
end
$$;
comment on function copy_column_comments is 'Copies the comments of a view''s columns to the columns of the same names in other views';
