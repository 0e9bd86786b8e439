-- What former versions had and nothing uses any more; a view of somebody else may.
do $do$
begin
  drop function if exists reporting.change_time(text, timestamptz), reporting.rank(text);
exception
  when dependent_objects_still_exist then
    raise notice 'The functions reporting.change_time and reporting.rank stay, because other objects depend on them.';
end
$do$;
