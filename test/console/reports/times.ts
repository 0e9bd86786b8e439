/** The present, in seconds. */
export const now = () => Math.floor(Date.now() / 1000);

/** Times of a callback that the default range of every report includes. */
export const today = () => ({
  event_time: now(),
  data: { created_at: Date.now(), admission_date: now(), start_time: now() },
});
