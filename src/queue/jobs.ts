/** What the queue carries: the ids of deliveries, never what they say. */
export type Jobs = {
  /** Apply these deliveries. */
  apply: { ids: string[] };
  /** Move these deliveries into the database, which was away when they came: the only job that holds what they say. */
  store: { deliveries: { id: string; family: string; json: string }[] };
  /** Look for deliveries that no job carries. */
  sweep: Record<string, never>;
};

export type JobName = keyof Jobs;
export type JobData = Jobs[JobName];
