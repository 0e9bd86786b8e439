import { PostButton } from '../ui/forms.tsx';

interface WhoLookedProps {
  /** A record whose patient is meant. */
  record: { family: string; business: string; id: string };
}

/** The button for the entries of the access log about a record's patient; other roles than privacy do not see it. */
export const WhoLooked = ({ record: { family, business, id } }: WhoLookedProps) => (
  <PostButton action="/console/access-log" values={{ family, business, record: id }} kind="second">
    Who looked at this
  </PostButton>
);
