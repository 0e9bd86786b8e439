/** What the queue carries: the ids of deliveries, never what they say. */
export type Jobs = {
  /** Apply these deliveries. */
  apply: { ids: string[] };
  /** Look for deliveries that no job carries. */
  sweep: Record<string, never>;
};

export type JobName = keyof Jobs;
export type JobData = Jobs[JobName];
